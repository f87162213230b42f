"""Open transactions: one that an audit meets is normal, one that is still there long after hangs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from jobs.checksum.outcome import blocked_too_long, held_since
from jobs.checksum.ranges import ClusterRanges, ResolvedRanges
from jobs.checksum.state import PartitionState
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import OffsetRange, TopicPartition

P = TopicPartition("orders", 0)
AT = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def resolved(at: datetime, *, hidden_from: int | None) -> ResolvedRanges:
    def held(name: str, end: int, hidden: int | None) -> ClusterRanges:
        return ClusterRanges(name, {}, {P: OffsetRange(0, end)}, {} if hidden is None else {P: 5})

    sides = held("E", hidden_from or 90, hidden_from), held("W", 90, None)
    return ResolvedRanges(at, *sides, {}, 1, frozenset(), (frozenset(), frozenset()))


def test_a_transaction_that_is_open_where_the_last_audit_ended_is_none_that_hangs() -> None:
    known = PartitionState((30, 30), (30, 30))
    assert blocked_too_long(P, known, resolved(AT, hidden_from=30), MINUTE) == []


def test_a_transaction_that_was_seen_open_long_ago_is_named_with_the_offset_that_blocks() -> None:
    seen = PartitionState(held=held_since(P, PartitionState(), resolved(AT, hidden_from=30)))
    assert blocked_too_long(P, seen, resolved(AT + MINUTE / 2, hidden_from=30), MINUTE) == []
    still = PartitionState(held=held_since(P, seen, resolved(AT + MINUTE / 2, hidden_from=30)))
    (found,) = blocked_too_long(P, still, resolved(AT + MINUTE, hidden_from=30), MINUTE)
    assert (found.kind, found.source_offset, found.target_offset, found.count) == (
        FindingKind.UNVERIFIABLE,
        30,
        None,
        5,
    )


def test_another_transaction_begins_to_count_again_and_none_ends_it() -> None:
    seen = PartitionState(held=held_since(P, PartitionState(), resolved(AT, hidden_from=30)))
    assert blocked_too_long(P, seen, resolved(AT + 2 * MINUTE, hidden_from=40), MINUTE) == []
    assert held_since(P, seen, resolved(AT, hidden_from=None)) == (None, None)


def test_only_this_projects_flows_are_known_to_read_what_is_committed() -> None:
    """Of a flow that nobody can ask how far it is, and of one that is going to be taken over, that is not known."""
    own = resolved(AT, hidden_from=None)
    assert [each.by_others for each in (own, replace(own, positions=None), replace(own, observed=True))] == [
        False,
        True,
        True,
    ]
