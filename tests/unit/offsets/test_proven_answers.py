"""Answers that content gave before the fence are used again only for the same logs, and only while they are held."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kafka_dr.clusters import NotFound
from kafka_dr.offsets import Translation, TranslationBasis
from kafka_dr.offsets.translate.by_content import proven_before
from kafka_dr.offsets.translate.proven_answers import ProvenAnswers
from kafka_dr.positions import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_dr.clusters import KafkaCluster
    from kafka_dr.offsets.maps import MapStore
    from kafka_dr.offsets.syncs.archive import SyncLookup
    from kafka_dr.offsets.translate.anchor_cache import AnchorCache

P, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
PROVEN = Translation(7, 17, "exact", 0, "compared", proof="right")


@dataclass
class Log:
    """The logs of one cluster: all begin and end at the same offsets."""

    name: str
    topic_id: str
    start: int = 0
    end: int = 20
    gone: bool = False
    looks: list[set[str]] = field(default_factory=list)

    @property
    def topics(self) -> Any:
        def describe(names: Iterable[str]) -> dict[str, Any]:
            self.looks.append(set(names))
            if self.gone:
                raise NotFound("there is no such topic")
            return {name: SimpleNamespace(topic_id=self.topic_id) for name in names}

        return SimpleNamespace(
            describe=describe,
            log_starts=lambda partitions: dict.fromkeys(partitions, self.start),
            last_stable_offsets=lambda partitions: dict.fromkeys(partitions, self.end),
        )


def basis_of(source: Log, target: Log, proven: ProvenAnswers) -> TranslationBasis:
    return TranslationBasis(
        cast("KafkaCluster", source),
        cast("KafkaCluster", target),
        syncs=cast("SyncLookup", None),
        maps=cast("MapStore", None),
        cache=cast("AnchorCache", None),
        proven=proven,
    )


@pytest.fixture
def proven() -> ProvenAnswers:
    found = ProvenAnswers()
    found.learn("east-to-west", {"orders": ("a", "b")}, {(P, 7): PROVEN})
    return found


def test_an_answer_is_used_again_and_only_for_its_offset(proven: ProvenAnswers) -> None:
    found = proven_before(basis_of(Log("east", "a"), Log("west", "b"), proven), {P: [6, 7], OTHER: [7]})
    assert found == {(P, 7): PROVEN}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (Log("east", "c"), Log("west", "b")),
        (Log("east", "a"), Log("west", "c")),
        (Log("east", "a", start=8), Log("west", "b")),
        (Log("east", "a", end=6), Log("west", "b")),
        (Log("east", "a"), Log("west", "b", start=18)),
        (Log("east", "a"), Log("west", "b", end=16)),
        (Log("east", "a"), Log("west", "b", gone=True)),
        (Log("west", "b"), Log("east", "a")),
    ],
    ids=["other source", "other target", "expired", "cut", "copy expired", "copy cut", "topic gone", "other direction"],
)
def test_an_answer_about_a_log_that_is_another_one_now_is_not_used(
    proven: ProvenAnswers, source: Log, target: Log
) -> None:
    assert proven_before(basis_of(source, target, proven), {P: [7]}) == {}


@pytest.mark.parametrize(
    "answer",
    [
        replace(PROVEN, kind="bounded", redelivered_at_most=3),
        replace(PROVEN, proof="unknown"),
        replace(PROVEN, proof="early"),
        Translation(7, None, "unknown", None, "not found"),
    ],
)
def test_what_is_not_exact_and_proven_by_the_records_around_it_is_compared_again(answer: Translation) -> None:
    found = ProvenAnswers()
    found.learn("east-to-west", {"orders": ("a", "b")}, {(P, 7): answer})
    assert proven_before(basis_of(Log("east", "a"), Log("west", "b"), found), {P: [7]}) == {}


def test_where_nothing_is_known_no_cluster_is_asked(proven: ProvenAnswers) -> None:
    source, target = Log("east", "a"), Log("west", "b")
    assert proven_before(basis_of(source, target, proven), {P: [8], OTHER: [7]}) == {}
    assert (source.looks, target.looks) == ([], [])
