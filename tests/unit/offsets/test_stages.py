"""The stages of a translation share one basis, and what is known of a partition is looked up once for all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from kafka_dr.clusters import KafkaCluster
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate import facts, pipeline
from kafka_dr.offsets.translate.anchor_cache import AnchorCache
from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.facts import FactsOnDemand, GatheredFacts, PartitionFacts
from kafka_dr.offsets.translate.taken_over_copy import TakenOverCopy
from kafka_dr.positions import CountedRange, OffsetRange, PartitionOffset, SeedPoint, TopicPartition
from kafka_dr.topology.readers import GroupsPolicy

PARTITIONS = tuple(TopicPartition("orders", number) for number in range(4))
#: The target has deleted its first record, so facts alone translate nothing. A group at 50 has read everything.
_HELD = PartitionFacts(OffsetRange(0, 50), OffsetRange(1, 90))


class Gathered:
    """Answers for the stages that ask clusters, and knows what each was asked."""

    def __init__(self, *, unknown: Collection[int] = ()) -> None:
        self.gathered: list[set[TopicPartition]] = []
        self.without_syncs: list[set[TopicPartition]] = []
        self.compared: set[PartitionOffset] = set()
        self._unknown = unknown

    def gather(
        self, basis: TranslationBasis, partitions: Collection[TopicPartition], *, with_syncs: bool = True
    ) -> GatheredFacts:
        (self.gathered if with_syncs else self.without_syncs).append(set(partitions))
        return GatheredFacts(dict.fromkeys(partitions, _HELD), ())

    def compare(
        self, basis: TranslationBasis, offsets: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[PartitionOffset, Translation]:
        asked = {(p, offset) for p, found in offsets.items() for offset in found}
        self.compared |= asked
        return {
            (p, offset): Translation(offset, None, "unknown", None, "not found")
            if offset in self._unknown
            else Translation(offset, offset + 40, "exact", 0, "compared")
            for p, offset in asked
        }


class Target:
    """A target without records, as far as the stages ask it."""

    name = "west"

    def __init__(self) -> None:
        self.asked: list[set[TopicPartition]] = []
        self.topics = SimpleNamespace(
            settings=lambda topics, _keys: {topic: {} for topic in topics},
            log_starts=lambda partitions: dict.fromkeys(partitions, 0),
            high_watermarks=self._ends,
            last_stable_offsets=lambda partitions: dict.fromkeys(partitions, 90),
        )
        self.offsets_by_time = SimpleNamespace(at_each=lambda asked: {})
        self.log = SimpleNamespace(read=lambda ranges: [])

    def _ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked.append(set(partitions))
        return dict.fromkeys(partitions, 90)


BASIS = TranslationBasis(
    cast("KafkaCluster", Target()),
    cast("KafkaCluster", Target()),
    syncs=cast("SyncLookup", None),
    maps=cast("MapStore", None),
    cache=cast("AnchorCache", None),
)


def translated(
    monkeypatch: pytest.MonkeyPatch,
    stages: Gathered,
    committed: Mapping[str, Mapping[TopicPartition, int]],
    basis: TranslationBasis = BASIS,
    **policy: object,
) -> dict[tuple[str, TopicPartition], TranslatedOffset]:
    monkeypatch.setattr(facts, "gather", stages.gather)
    monkeypatch.setattr(pipeline, "gather", stages.gather)
    monkeypatch.setattr(pipeline, "translate_by_content", stages.compare)
    found = pipeline.translate(basis, committed, GroupsPolicy.model_validate(policy))
    return {(each.group, each.partition): each for each in found}


def test_the_facts_about_a_partition_are_gathered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = Gathered()
    monkeypatch.setattr(facts, "gather", stages.gather)
    on_demand = FactsOnDemand(BASIS)
    on_demand.of(PARTITIONS[:2])
    on_demand.of(PARTITIONS[:1])
    assert set(on_demand.of(PARTITIONS[1:3])) >= set(PARTITIONS[1:3])
    assert stages.gathered == [{*PARTITIONS[:2]}, {PARTITIONS[2]}]


def test_few_exact_offsets_need_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = Gathered()
    found = translated(monkeypatch, stages, {"slow": {PARTITIONS[0]: 7}, "fast": {PARTITIONS[0]: 9}})
    assert [found[name, PARTITIONS[0]].target_offset for name in ("slow", "fast")] == [47, 49]
    assert (stages.gathered, stages.without_syncs) == ([], [])


def test_of_many_offsets_facts_come_first_and_offset_syncs_are_read_only_where_content_has_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stages = Gathered(unknown=(50,))
    committed = {f"reader-{number}": dict.fromkeys(PARTITIONS, number % 50) for number in range(60)}
    many = {f"more-{number}": {TopicPartition("many", number): 7} for number in range(1_000)}
    found = translated(
        monkeypatch,
        stages,
        {**committed, **many, "early": {PARTITIONS[1]: 9}, "lost": {PARTITIONS[2]: 50}},
        start_of={"early": "earliest"},
        unknown_offsets="timestamp",
    )
    every = {*PARTITIONS, *(TopicPartition("many", number) for number in range(1_000))}
    assert stages.without_syncs == [every]
    assert stages.gathered == [{PARTITIONS[2]}, {PARTITIONS[1]}], "what is lost, and what was chosen"
    assert (PARTITIONS[3], 49) in stages.compared
    early, lost = found["early", PARTITIONS[1]], found["lost", PARTITIONS[2]]
    assert (early.target_offset, early.kind) == (1, "bounded")
    # It had read everything, so it begins at the end.
    assert (lost.target_offset, lost.kind) == (90, "declared")
    assert "by policy from the time" in lost.reason


@pytest.mark.parametrize(
    ("policy", "offset", "kind", "asked"),
    [
        ("refuse", None, "unknown", []),
        ("earliest", 0, "bounded", []),
        ("timestamp", 90, "declared", [{PARTITIONS[2]}]),
    ],
)
def test_an_unknown_offset_becomes_what_the_policy_says_and_only_its_partition_is_asked_about(
    monkeypatch: pytest.MonkeyPatch, policy: str, offset: int | None, kind: str, asked: list[set[TopicPartition]]
) -> None:
    stages = Gathered(unknown=(50,))
    found = translated(
        monkeypatch, stages, {"slow": {PARTITIONS[0]: 7}, "lost": {PARTITIONS[2]: 50}}, unknown_offsets=policy
    )
    lost = found["lost", PARTITIONS[2]]
    assert (lost.target_offset, lost.kind) == (offset, kind)
    assert found["slow", PARTITIONS[0]].kind == "exact"
    assert stages.gathered == asked


#: Another replication had copied the first partition up to 20, and some of it twice.
TAKEN_OVER = {PARTITIONS[0]: TakenOverCopy(SeedPoint(20, 60), second_copies=(CountedRange(50, 60, 9),))}


@pytest.mark.parametrize("more", [0, 1_000])
def test_second_copies_are_counted_however_many_offsets_there_are(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    target = Target()
    basis = replace(BASIS, target=cast("KafkaCluster", target), taken_over=TAKEN_OVER)
    many = {f"more-{number}": {TopicPartition("many", number): 7} for number in range(more)}
    groups = {"slow": {PARTITIONS[0]: 7, PARTITIONS[1]: 7}, "slower": {PARTITIONS[0]: 7}, **many}
    found = translated(monkeypatch, Gathered(), groups, basis, start_of={"slower": "earliest"})
    slow, slower = found["slow", PARTITIONS[0]], found["slower", PARTITIONS[0]]
    assert (slow.target_offset, slow.kind, slow.redelivered_at_most, slow.second_copies) == (47, "bounded", 9, 9)
    assert found["slow", PARTITIONS[1]].kind == "exact"
    # From the start on it reads 46 records before its own position, and then the second copies.
    assert (slower.target_offset, slower.redelivered_at_most, slower.second_copies) == (1, 55, 9)
    assert target.asked[0] == {PARTITIONS[0]}


def test_past_the_take_over_nothing_is_counted_and_nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target()
    basis = replace(BASIS, target=cast("KafkaCluster", target), taken_over=TAKEN_OVER)
    found = translated(monkeypatch, Gathered(), {"fast": {PARTITIONS[0]: 20}}, basis)
    assert (found["fast", PARTITIONS[0]].kind, target.asked) == ("exact", [])
