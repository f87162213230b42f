"""Stored documents: each kind is read as version 0.1.0 wrote it, and anything else is refused in one sentence."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

import jobs
import kafka_dr
from kafka_dr.codec import GroupPositions, InOrder, NotDecoded, StoredDocument, TopicIds, WholeSeconds, stored
from kafka_dr.positions import CommittedOffset, OffsetRange, SeedPoint, TopicPartition

#: By kind, one document with every field and one with as few as possible. A later version reads these files, too.
FIRST = json.loads(Path(__file__).with_name("documents_0.1.0.json").read_text("utf-8"))


def kinds() -> Iterator[tuple[str, type[StoredDocument]]]:
    """Yield every class that is stored, by its module."""
    for package in (kafka_dr, jobs):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name == "kafka_dr.__main__":
                continue
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                if isinstance(value, type) and issubclass(value, StoredDocument) and value.__module__ == found.name:
                    yield f"{found.name}:{name}", value


KINDS = {name: kind for name, kind in kinds() if kind is not StoredDocument}


def test_there_is_a_document_of_the_first_version_of_each_kind() -> None:
    assert sorted(FIRST) == sorted(KINDS)


@pytest.mark.parametrize("kind", FIRST)
def test_what_the_first_version_wrote_is_read_and_written_as_it_was(kind: str) -> None:
    for document in FIRST[kind]:
        assert json.loads(json.dumps(KINDS[kind].from_json(document).to_json())) == document


@pytest.mark.parametrize("kind", FIRST)
def test_a_field_that_nobody_knows_or_that_is_missing_is_refused(kind: str) -> None:
    most, least = FIRST[kind]
    with pytest.raises(NotDecoded, match=r"has 'from_tomorrow', which this version does not know"):
        KINDS[kind].from_json({**most, "from_tomorrow": 1})
    for name in least.keys() - set(KINDS[kind].derived):
        with pytest.raises(NotDecoded, match=f"lacks '{name}'"):
            KINDS[kind].from_json({key: value for key, value in least.items() if key != name})


@dataclass(frozen=True, slots=True)
class PlainPart:
    number: int
    figure: float | None = None


@dataclass(frozen=True, slots=True)
class EveryForm(StoredDocument):
    """A document with each form that a field can have."""

    derived = ("size",)

    choice: Literal["one", "two"]
    at: datetime
    until: WholeSeconds | None
    ends: Mapping[TopicPartition, int]
    points: Mapping[TopicPartition, tuple[SeedPoint, ...]]
    held: Mapping[TopicPartition, tuple[OffsetRange, ...]]
    groups: GroupPositions
    ids: TopicIds | None
    steps: InOrder
    parts: tuple[PlainPart, ...]
    pair: tuple[int, str]
    facts: Mapping[str, Any]
    kind: str = field(default="", metadata=stored("class", omitted=True))
    unseen: int = field(default=0, metadata=stored(hidden=True))

    @property
    def size(self) -> int:
        return len(self.parts)


A, B = TopicPartition("a", 0), TopicPartition("b", 1)
AT = datetime(2026, 11, 27, 7, 30, 15, 123456, tzinfo=UTC)
EVERY = EveryForm(
    "two",
    AT,
    AT.replace(microsecond=0),
    {A: CommittedOffset(4, "left by a consumer"), B: 3},
    {A: (SeedPoint(1, 2), SeedPoint(3, 4))},
    {A: (OffsetRange(5, 7),)},
    {"readers": {B: 1}},
    {"a": "id of a"},
    {"z": 1.5, "a": 2.5},
    (PlainPart(1, 2.5), PlainPart(2)),
    (1, "x"),
    {"any": [1, {"b": None}]},
)
DOCUMENT = {
    "choice": "two",
    "at": "2026-11-27T07:30:15.123456+00:00",
    "until": "2026-11-27T07:30:15+00:00",
    "ends": [["a", 0, 4, "left by a consumer"], ["b", 1, 3]],
    "points": [["a", 0, [1, 2], [3, 4]]],
    "held": [["a", 0, [[5, 7]]]],
    "groups": [{"group": "readers", "positions": [["b", 1, 1]]}],
    "ids": [{"topic": "a", "topic_id": "id of a"}],
    "steps": [["z", 1.5], ["a", 2.5]],
    "parts": [{"number": 1, "figure": 2.5}, {"number": 2, "figure": None}],
    "pair": [1, "x"],
    "facts": {"any": [1, {"b": None}]},
    "size": 2,
}


def test_each_form_is_written_and_read() -> None:
    assert EVERY.to_json() == DOCUMENT
    read = EveryForm.from_json(DOCUMENT)
    assert read == EVERY
    assert list(read.steps) == ["z", "a"]
    assert read.ends[A].metadata == "left by a consumer"  # type: ignore[attr-defined]


def test_a_part_of_a_larger_document_is_read_by_its_fields() -> None:
    assert EveryForm.from_part({**DOCUMENT, "of_somebody_else": 1}) == EVERY


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("choice", "three", "choice is 'three', and one of one, two was expected"),
        ("choice", ["one"], "choice is ['one'], and one of one, two was expected"),
        ("at", "2026-11-27T07:30:15", "at is '2026-11-27T07:30:15', and a time with a time zone was expected"),
        ("at", "noon", "at is 'noon', and a time was expected"),
        ("at", 7, "at is 7, and a time was expected"),
        ("ends", {}, "ends is {}, and a list was expected"),
        ("ends", [["a", 0]], "ends is ['a', 0], and a partition and one value was expected"),
        ("ends", [["a", "0", 1]], "ends is '0', and a whole number was expected"),
        ("points", [["a", 0, [1]]], "points[0] is [1], and a list of 2 was expected"),
        ("held", [["a", 0, [[7, 5]]]], "held[0] an offset range runs upwards from 0, not from 7 to 5"),
        ("groups", [{"group": "g"}], "groups is {'group': 'g'}, and an object of 'group' and 'positions' was expected"),
        ("ids", 3, "ids is 3, and a list was expected"),
        ("parts", "ab", "parts is 'ab', and a list was expected"),
        ("parts", [{"number": 1}], "parts[0] lacks 'figure'"),
        ("parts", [{"number": True, "figure": 1}], "parts[0].number is True, and a whole number was expected"),
        ("parts", [{"number": 1, "figure": float("nan")}], "parts[0].figure is nan, and a number was expected"),
        (
            "parts",
            [{"number": 1, "figure": 10**400}],
            f"parts[0].figure is 1{'0' * 78}…, and a number was expected",
        ),
        ("pair", [1], "pair is [1], and a list of 2 was expected"),
        ("facts", [], "facts is [], and an object was expected"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(name: str, value: object, said: str) -> None:
    with pytest.raises(NotDecoded) as refused:
        EveryForm.from_json({**DOCUMENT, name: value})
    assert str(refused.value) == said


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(NotDecoded, match=r"it is \[\], and an object was expected"):
        EveryForm.from_json([])
