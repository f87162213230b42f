"""What is read and compared, from what the audit before has left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from copy_audit.partitions import PartitionOutcome
from jobs.checksum.outcome import next_state
from jobs.checksum.plan import compared_ranges, make, without_times
from jobs.checksum.previous_scans import previous_scans
from jobs.checksum.ranges import ClusterRanges, ResolvedRanges
from jobs.checksum.run import beginnings
from jobs.checksum.state import AuditState, PartitionState, Scan
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import OffsetRange, Topic, TopicPartition
from kafka_dr.positions import SeedPoint
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, SeedMode

P = TopicPartition("orders", 0)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def held(name: str, topic_id: str, start: int, end: int) -> ClusterRanges:
    return ClusterRanges(name, {"orders": Topic("orders", topic_id, (1,))}, {P: OffsetRange(start, end)}, {})


def resolved(source: tuple[str, int, int], target: tuple[str, int, int], *, epoch: int | None = 1) -> ResolvedRanges:
    return ResolvedRanges(
        NOW, held("E", *source), held("W", *target), {}, epoch, frozenset(), (frozenset(), frozenset())
    )


def settled(epoch: int = 1) -> AuditState:
    state = PartitionState((90, 95), (100, 95), coverage=Coverage(90, 90), open={"LOST": 2})
    return AuditState(("E", "W", epoch), {"orders": ("a", "b")}, {P: state})


def test_times_are_left_out_if_either_cluster_stamped_copies() -> None:
    first, later = (resolved(("a", 5, 50), ("b", 0, 60), epoch=epoch) for epoch in (1, 2))
    assert first.with_stamped({"orders"}, ()).restamped == frozenset()
    assert later.with_stamped({"orders"}, ()).restamped == {"orders"}
    for each in (first, later):
        stamped = each.with_stamped((), {"orders"})
        assert stamped.restamped == {"orders"}
        assert stamped.times_lost("east", "west").count("west replaces the timestamps of orders") == 1


def test_a_topic_that_was_stamped_once_stays_so_until_it_is_made_again() -> None:
    now = resolved(("a", 5, 50), ("b", 0, 60))
    before = replace(settled(), kinds={"orders": (False, False)})
    assert without_times(before, now) == {"orders"}
    assert without_times(replace(before, topic_ids={"orders": ("a", "z")}), now) == set()
    assert without_times(settled(), now) == set()


def test_the_first_audit_reads_all_that_is_there() -> None:
    plan = make(None, resolved(("a", 5, 50), ("b", 0, 60)), full=False).partitions[P]
    assert (plan.first, plan.source, plan.target) == (True, OffsetRange(5, 50), OffsetRange(0, 60))
    here, there = compared_ranges(plan, [], (5, 0))
    assert (here.start, here.end, here.expired, here.first_kept) == (0, 50, (), 5)
    assert (there.start, there.end, there.expired) == (0, 60, ())


def test_the_next_audit_reads_on_and_compares_from_where_it_was_settled() -> None:
    plan = make(settled(), resolved(("a", 0, 150), ("b", 0, 160)), full=False).partitions[P]
    assert (plan.first, plan.source, plan.target) == (False, OffsetRange(100, 150), OffsetRange(95, 160))
    here, there = compared_ranges(plan, [((80, 100), (80, 95))], (0, 0))
    assert [(s.start, s.end, s.expired) for s in (here, there)] == [(90, 150, ()), (95, 160, ())]


def test_what_was_deleted_between_two_audits_is_a_gap() -> None:
    plan = make(settled(), resolved(("a", 130, 150), ("b", 0, 160)), full=False).partitions[P]
    here, _ = compared_ranges(plan, [((80, 100), (80, 95))], (0, 0))
    assert (plan.source, here.expired) == (OffsetRange(130, 150), ((100, 130),))


def test_what_was_deleted_while_it_was_read_is_not_what_was_gone_before() -> None:
    plan = make(settled(), resolved(("a", 110, 150), ("b", 0, 160)), full=False).partitions[P]
    here, there = compared_ranges(plan, [((80, 100), (80, 95))], (120, 0))
    assert (here.expired, here.vanished) == (((100, 110),), (110, 120))
    assert (there.expired, there.vanished) == ((), (0, 0))
    assert compared_ranges(plan, [], (900, 0))[0].vanished == (110, 150)


def test_another_epoch_begins_again() -> None:
    plan = make(settled(epoch=1), resolved(("a", 0, 150), ("b", 0, 160), epoch=2), full=False)
    assert plan.partitions[P].first
    assert plan.state.scans == ()


def test_a_full_audit_begins_again_and_forgets_what_was_found() -> None:
    plan = make(settled(), resolved(("a", 0, 150), ("b", 0, 160)), full=True).partitions[P]
    assert (plan.first, plan.known.open, plan.events) == (True, {}, ())


def test_a_topic_of_another_life_is_a_finding_and_what_was_found_before_stays() -> None:
    plan = make(settled(), resolved(("new", 0, 20), ("b", 0, 160)), full=False).partitions[P]
    assert [(e.kind, e.source_offset, e.count) for e in plan.events] == [(FindingKind.UNVERIFIABLE, 100, 90)]
    assert (plan.source, plan.target) == (OffsetRange(0, 20), OffsetRange(95, 160))
    assert plan.known.open == {"LOST": 2}


def test_a_truncated_log_is_a_finding_and_compared_again() -> None:
    plan = make(settled(), resolved(("a", 0, 150), ("b", 0, 50)), full=False).partitions[P]
    assert [(e.kind, e.target_offset) for e in plan.events] == [(FindingKind.UNVERIFIABLE, 95)]
    assert (plan.source, plan.target) == (OffsetRange(0, 150), OffsetRange(0, 50))


def test_a_truncated_source_is_compared_again_with_all_that_the_target_has() -> None:
    plan = make(settled(), resolved(("a", 0, 60), ("b", 0, 160)), full=False).partitions[P]
    assert [(e.kind, e.source_offset) for e in plan.events] == [(FindingKind.UNVERIFIABLE, 100)]
    assert (plan.source, plan.target, plan.left_over) == (OffsetRange(0, 60), OffsetRange(0, 160), 95)


def test_a_topic_that_comes_to_the_target_later_is_the_same_topic() -> None:
    state = AuditState(("E", "W", 1), {"orders": ("a", "")}, {P: PartitionState((0, 0), (100, 0))})
    plan = make(state, resolved(("a", 0, 150), ("b", 0, 160)), full=False).partitions[P]
    assert (plan.events, plan.source, plan.target) == ((), OffsetRange(100, 150), OffsetRange(0, 160))


def test_what_waits_is_read_again_where_fingerprints_are_made_in_another_way_now() -> None:
    before = replace(settled(), kinds={"orders": (False, True)})
    now = resolved(("a", 0, 150), ("b", 0, 160))
    assert not make(before, now, full=False).partitions[P].again
    for changed in (replace(now, compacted=frozenset({"orders"})), now.with_stamped((), {"orders"})):
        found = make(before, changed, full=False)
        plan = found.partitions[P]
        assert (plan.first, plan.fresh, plan.known.open) == (False, True, {"LOST": 2})
        assert (plan.source, plan.target) == (OffsetRange(90, 150), OffsetRange(95, 160))
        assert previous_scans(found, P) == []
        assert found.state.kinds == {"orders": changed.kind("orders")}


def test_only_scans_since_a_partition_began_are_compared_again() -> None:
    scans = tuple(Scan(name, NOW, {P: ((80, 100), (80, 95))}) for name in ("old", "full", "next"))
    known = replace(settled().partitions[P], begun="full")
    found = make(
        replace(settled(), partitions={P: known}, scans=scans), resolved(("a", 0, 150), ("b", 0, 160)), full=False
    )
    assert [scan.name for scan in previous_scans(found, P)] == ["full", "next"]


@pytest.mark.parametrize(
    ("full", "events", "begun", "from_start"),
    [(True, False, "now", True), (False, False, "then", True), (False, True, "now", False)],
)
def test_the_state_says_with_which_scan_comparing_began(full: bool, events: bool, begun: str, from_start: bool) -> None:
    known = replace(settled().partitions[P], begun="then", from_start=True)
    asked = resolved(("a", 0, 150), ("new" if events else "b", 0, 160))
    plan = make(replace(settled(), partitions={P: known}), asked, full=full).partitions[P]
    outcome = PartitionOutcome(0, 0, (), (), Coverage(), Coverage(), (150, 160), (150, 160), ())
    state = next_state(P, plan, outcome, asked, "now")
    assert (state.begun, state.from_start) == (begun, from_start)


def test_what_was_decided_about_before_a_beginning_is_neither_read_nor_compared() -> None:
    begins = {P: SeedPoint(40, 55)}
    plan = make(None, resolved(("a", 0, 150), ("b", 0, 160)), full=False, beginnings=begins).partitions[P]
    assert (plan.first, plan.source, plan.target) == (False, OffsetRange(40, 150), OffsetRange(55, 160))
    here, there = compared_ranges(plan, [], (0, 0))
    assert [(each.start, each.end, each.expired) for each in (here, there)] == [(40, 150, ()), (55, 160, ())]
    assert (plan.known.coverage.produced, plan.known.coverage.excluded) == (40, 40)
    assert plan.known.coverage.adds_up


def test_a_full_audit_begins_there_again_and_what_is_kept_comes_first() -> None:
    begins, now = {P: SeedPoint(40, 55)}, resolved(("a", 0, 150), ("b", 0, 160))
    again = make(settled(), now, full=True, beginnings=begins).partitions[P]
    assert (again.source.start, again.target.start) == (40, 55)
    continued = make(settled(), now, full=False, beginnings=begins).partitions[P]
    assert (continued.source.start, continued.target.start) == (100, 95)


def test_only_a_flow_that_took_over_begins_at_its_seed_and_only_for_topics_that_are_still_those() -> None:
    def journal(mode: SeedMode, *, epoch: int = 1, topic_id: str = "a") -> dict[str, dict[str, Any]]:
        seed = FlowSeed(
            epoch,
            "east",
            "west",
            on_source={P: 40},
            on_target={P: 55},
            mode=mode,
            topic_ids={"orders": topic_id},
        )
        return {"a run": {FLOW_SEED: seed.to_json()}}

    now = resolved(("a", 0, 150), ("b", 0, 160))
    assert beginnings(journal("take_over"), now, "east", "west") == {P: SeedPoint(40, 55)}
    for other in (journal("start"), journal("take_over", epoch=2), journal("take_over", topic_id="z"), {}):
        assert beginnings(other, now, "east", "west") == {}
    assert beginnings(journal("take_over"), now, "west", "east") == {}


def test_times_are_left_out_where_originals_have_none() -> None:
    first, later = (resolved(("a", 5, 50), ("b", 0, 60), epoch=epoch) for epoch in (1, 2))
    for each in (first, later):
        found = each.with_untimed({"orders"}, ())
        assert found.restamped == {"orders"}
        assert found.times_lost("east", "west").startswith("records of orders have no timestamp")
    assert first.with_untimed((), {"orders"}).restamped == frozenset(), "a copy that has lost its time is changed"
    assert later.with_untimed((), {"orders"}).restamped == {"orders"}
