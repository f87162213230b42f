"""Answers that content gave before the fence are used again only for the same logs, and only while they are held."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kafka_dr.clusters import NotFound
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_content import proven_before
from kafka_dr.offsets.translate.proven_answers import ProvenAnswers
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_dr.clusters import KafkaCluster
    from kafka_dr.offsets.maps import MapStore
    from kafka_dr.offsets.syncs.archive import SyncLookup
    from kafka_dr.offsets.translate.anchor_cache import AnchorCache

P, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
HELD = RangePair(OffsetRange(0, 20), OffsetRange(0, 20))
PROVEN = Translation(7, 17, "exact", 0, "compared", proof="right")


@dataclass
class HeldLogs:
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


def basis_of(source: HeldLogs, target: HeldLogs, proven: ProvenAnswers) -> TranslationBasis:
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
    found.learn("east-to-west", {"orders": ("a", "b")}, {(P, 7): PROVEN}, {P: HELD})
    return found


def test_an_answer_is_used_again_and_only_for_its_offset(proven: ProvenAnswers) -> None:
    found = proven_before(basis_of(HeldLogs("east", "a"), HeldLogs("west", "b"), proven), {P: [6, 7], OTHER: [7]})
    assert found == {(P, 7): PROVEN}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (HeldLogs("east", "c"), HeldLogs("west", "b")),
        (HeldLogs("east", "a"), HeldLogs("west", "c")),
        (HeldLogs("east", "a", start=8), HeldLogs("west", "b")),
        (HeldLogs("east", "a", end=6), HeldLogs("west", "b")),
        (HeldLogs("east", "a"), HeldLogs("west", "b", start=18)),
        (HeldLogs("east", "a"), HeldLogs("west", "b", end=16)),
        (HeldLogs("east", "a"), HeldLogs("west", "b", gone=True)),
        (HeldLogs("west", "b"), HeldLogs("east", "a")),
    ],
    ids=["other source", "other target", "expired", "cut", "copy expired", "copy cut", "topic gone", "other direction"],
)
def test_an_answer_about_a_log_that_is_another_one_now_is_not_used(
    proven: ProvenAnswers, source: HeldLogs, target: HeldLogs
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
    found.learn("east-to-west", {"orders": ("a", "b")}, {(P, 7): answer}, {P: HELD})
    assert proven_before(basis_of(HeldLogs("east", "a"), HeldLogs("west", "b"), found), {P: [7]}) == {}


def test_where_nothing_is_known_no_cluster_is_asked(proven: ProvenAnswers) -> None:
    source, target = HeldLogs("east", "a"), HeldLogs("west", "b")
    assert proven_before(basis_of(source, target, proven), {P: [8], OTHER: [7]}) == {}
    assert (source.looks, target.looks) == ([], [])


@pytest.mark.parametrize(("target_end", "used"), [(17, True), (18, False)])
def test_where_nothing_was_unread_what_has_come_on_the_target_since_has_to_be_compared(
    target_end: int, used: bool
) -> None:
    """Somebody who may write to the standby may have written it: it is not a copy."""
    held, found = RangePair(OffsetRange(0, 7), OffsetRange(0, 17)), ProvenAnswers()
    found.learn("east-to-west", {"orders": ("a", "b")}, {(P, 7): PROVEN}, {P: held})
    basis = basis_of(HeldLogs("east", "a", end=7), HeldLogs("west", "b", end=target_end), found)
    assert bool(proven_before(basis, {P: [7]})) is used


def test_nothing_is_learned_of_a_topic_that_only_one_cluster_has() -> None:
    found = ProvenAnswers()
    found.learn("east-to-west", {}, {(P, 7): PROVEN}, {P: HELD})
    assert found.among("east-to-west", {P: [7]}) == {}
