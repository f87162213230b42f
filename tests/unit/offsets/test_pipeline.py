"""Facts first, and records only where facts leave something open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.offsets.maps import composed_runs
from kafka_dr.offsets.syncs.history import NOTHING as NO_SYNCS
from kafka_dr.offsets.syncs.history import ArchivedSync, history
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.facts import Facts, PartitionFacts
from kafka_dr.offsets.translate.pipeline import translate_offsets
from kafka_dr.positions import OffsetRange, TopicPartition

MATCHED, SYNCED, MISSING = (TopicPartition("t", number) for number in range(3))
FACTS = {
    MATCHED: PartitionFacts(OffsetRange(0, 9), OffsetRange(0, 9), runs=composed_runs({1: [OffsetRun(0, 0, 9)]})),
    SYNCED: PartitionFacts(OffsetRange(0, 9), OffsetRange(0, 9), syncs=history([ArchivedSync(0, 2, 2, 0)])),
    MISSING: PartitionFacts(OffsetRange(0, 9), None),
}


class Reading:
    """Answers what it was given, and knows what it was asked."""

    def __init__(self, answer: int | None) -> None:
        self.asked: dict[TopicPartition, list[int]] = {}
        self._answer = answer

    def translate(
        self, positions: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[tuple[TopicPartition, int], Translation]:
        self.asked = {p: sorted(wanted) for p, wanted in positions.items()}
        kind, at = ("unknown" if self._answer is None else "exact"), self._answer
        return {(p, o): Translation(o, at, kind, 0, "read") for p in positions for o in positions[p]}  # type: ignore[arg-type]


def test_records_are_read_only_if_no_audit_settled_the_offset_and_both_clusters_hold_the_partition() -> None:
    reading = Reading(7)
    found = translate_offsets(reading.translate, {MATCHED: [4], SYNCED: [5], MISSING: [5]}, facts=FACTS)
    assert reading.asked == {SYNCED: [5]}
    assert [found[p, o].target_offset for p, o in ((MATCHED, 4), (SYNCED, 5), (MISSING, 5))] == [4, 7, None]
    assert "not made it yet" in found[MISSING, 5].reason


def test_an_offset_that_records_cannot_translate_keeps_what_the_syncs_say() -> None:
    found = translate_offsets(Reading(None).translate, {SYNCED: [5]}, facts=FACTS)
    assert (found[SYNCED, 5].kind, found[SYNCED, 5].target_offset) == ("bounded", 3)


def test_offset_syncs_are_looked_up_only_for_what_records_cannot_translate() -> None:
    asked: list[set[TopicPartition]] = []

    def complete(partitions: Collection[TopicPartition]) -> Facts:
        asked.append(set(partitions))
        return FACTS

    without_syncs = {p: replace(found, syncs=NO_SYNCS) for p, found in FACTS.items()}
    offsets = {MATCHED: [4], SYNCED: [5]}
    found = translate_offsets(Reading(7).translate, offsets, facts=without_syncs, complete=complete)
    assert (found[SYNCED, 5].kind, found[SYNCED, 5].target_offset, asked) == ("exact", 7, [])
    found = translate_offsets(Reading(None).translate, offsets, facts=without_syncs, complete=complete)
    assert found == translate_offsets(Reading(None).translate, offsets, facts=FACTS)
    assert asked == [{SYNCED}]


def test_nothing_is_read_where_audits_settled_everything() -> None:
    reading = Reading(None)
    assert translate_offsets(reading.translate, {MATCHED: [0, 9]}, facts=FACTS)[MATCHED, 9].kind == "exact"
    assert reading.asked == {}
