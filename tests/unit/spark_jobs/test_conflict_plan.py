"""Which offsets a conflict audit reads: each once, and what nobody can read any more is counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from jobs.conflicts.origins import AskedMembers, OriginLog
from jobs.conflicts.plan import plan, together
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.conflicts.state import CommittedCopy, ConflictState, ReadOrigin

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
ZERO = TopicPartition("baskets", 0)
EAST = ("east", ZERO)


def asked(start: int, end: int, topic_id: str = "t") -> AskedMembers:
    log = OriginLog("id", {"baskets": topic_id}, {ZERO: OffsetRange(start, end)}, frozenset())
    return AskedMembers(AT, {"east": log}, (), ())


def read_to(end: int, topic_id: str = "t") -> ConflictState:
    origins = (ReadOrigin("east", "baskets", 0, topic_id, end),)
    return ConflictState((("east", "id"),), "hashed", 5, "kept", origins)


def test_a_first_audit_reads_all_that_is_held_and_the_next_one_what_is_new() -> None:
    first = plan(asked(0, 10), None, skew_ms=100)
    assert first.ranges == {EAST: OffsetRange(0, 10)}
    assert first.reached(asked(0, 10)) == read_to(10).origins
    assert plan(asked(4, 15), read_to(10), skew_ms=100).ranges == {EAST: OffsetRange(10, 15)}
    assert plan(asked(4, 10), read_to(10), skew_ms=100).ranges == {}
    assert first.horizon_ms == int(AT.timestamp() * 1000) - 100 - 600_000


def test_a_log_that_was_made_again_or_cut_is_read_from_its_beginning() -> None:
    assert plan(asked(0, 15, "new"), read_to(10), skew_ms=0).ranges == {EAST: OffsetRange(0, 15)}
    assert plan(asked(0, 7), read_to(10), skew_ms=0).ranges == {EAST: OffsetRange(0, 7)}


def test_what_expired_before_or_while_it_was_read_and_what_compaction_removed_is_counted() -> None:
    planned = plan(asked(4, 15), None, skew_ms=0)
    counted = {"records": 8, "late": 1, "without_key": 2}
    found = planned.read(EAST, counted, compacted=False, starts={})
    assert (found.first, found.end, found.records, found.expired, found.compacted) == (0, 15, 8, 4, 0)
    assert (found.late, found.without_key, found.unknown) == (1, 2, 5)
    assert planned.read(EAST, counted, compacted=True, starts={}).compacted == 3
    assert planned.read(EAST, counted, compacted=False, starts={EAST: 9}).expired == 9
    later = plan(asked(4, 15), read_to(10), skew_ms=0)
    assert later.read(EAST, {"records": 5}, compacted=True, starts={EAST: 4}).unknown == 0


def test_what_was_committed_on_a_copy_is_remembered_by_its_first_time() -> None:
    before = CommittedCopy("east", "west", "baskets", 0, "c", ((1, 10),))
    same, moved = replace(before, seen=((2, 10),)), replace(before, seen=((3, 12),))
    other = replace(before, partition=1)
    assert together((before,), (same,)) == (before,)
    assert together((before,), (moved, other)) == (replace(before, seen=((1, 10), (3, 12))), other)
    assert together((before,), ()) == (before,)
