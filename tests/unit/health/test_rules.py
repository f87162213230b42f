"""Rules of a look at health: what counts as dead, what a returned cluster holds."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kafka_dr.audit import AuditKind, AuditResult, AuditVerdict
from kafka_dr.checks.returned_cluster import _frontier, count_uncopied
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.health.report_only import judge_lag, judge_route
from kafka_dr.health.stalled_runs import check_progress
from kafka_dr.register import Phase, Verb
from kafka_dr.routing import Route
from kafka_dr.runs.record import Check
from support.register_states import AT, a_state

ALLOWED = timedelta(minutes=3)
ONE, TWO = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)


@pytest.mark.parametrize("phase", [Phase.SWITCHING, Phase.HANDED_OVER])
def test_a_run_that_holds_a_group_and_does_nothing_is_named(phase: Phase) -> None:
    state = a_state(phase=phase, run="run-7", epoch=4)
    check = check_progress(state, last=AT + timedelta(minutes=1), now=AT + timedelta(minutes=5), allowed=ALLOWED)
    assert check.outcome == "failed"
    assert "run-7" in check.detail
    assert "dr_resume" in check.detail


def test_a_run_is_alive_by_its_register_record_or_by_its_newest_step() -> None:
    state = a_state(phase=Phase.SWITCHING)
    for last in (None, AT - timedelta(hours=1)):
        assert check_progress(state, last=last, now=AT + timedelta(minutes=3), allowed=ALLOWED).outcome == "ok"
    later = AT + timedelta(minutes=60)
    assert check_progress(state, last=later - timedelta(minutes=2), now=later, allowed=ALLOWED).outcome == "ok"
    assert check_progress(state, last=None, now=later, allowed=ALLOWED).outcome == "failed"


def test_a_run_that_handed_over_is_not_told_to_abandon() -> None:
    state = a_state(phase=Phase.HANDED_OVER)
    check = check_progress(state, last=None, now=AT + timedelta(hours=1), allowed=ALLOWED)
    assert "abandon" not in check.detail


@pytest.mark.parametrize("phase", [Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED])
def test_where_no_run_holds_the_group_nothing_is_dead(phase: Phase) -> None:
    check = check_progress(a_state(phase=phase), last=None, now=AT + timedelta(days=9), allowed=ALLOWED)
    assert check.outcome == "ok"


@pytest.mark.parametrize(("verb", "decision"), [("planned_failover", "finish"), ("roll_back", "abandon")])
def test_a_run_that_settled_a_group_and_sealed_nothing_is_named(verb: Verb, decision: str) -> None:
    state = a_state(phase=Phase.STABLE, run="run-7", epoch=4, verb=verb)

    def judged(minutes: int, *, sealed: bool = False, last: datetime | None = AT) -> Check:
        now = AT + timedelta(minutes=minutes)
        return check_progress(state, last=last, now=now, allowed=ALLOWED, sealed=sealed)

    assert judged(9).outcome == "failed"
    assert "run-7 left orders stable (epoch 4) and its evidence was never sealed" in judged(9).detail
    assert f"{decision} it with dr_resume" in judged(9).detail
    # Its report may be on its way, and the evidence of a run may be kept elsewhere.
    assert judged(2).outcome == judged(9, sealed=True).outcome == judged(9, last=None).outcome == "ok"


def test_what_a_returned_cluster_accepted_is_counted_from_where_crossing_was_proven() -> None:
    found = count_uncopied({ONE: 120, TWO: 80}, starts={}, frontier={ONE: 100, TWO: 80}, opening={ONE: 115})
    assert (found.beyond_frontier, found.since_opening) == (20, 5)


def test_a_partition_of_which_nothing_ever_crossed_counts_from_its_start() -> None:
    assert count_uncopied({ONE: 50}, starts={ONE: 10}, frontier={}, opening={}).beyond_frontier == 40


def test_what_was_never_known_stays_unknown() -> None:
    found = count_uncopied({ONE: 50}, starts={ONE: 0}, frontier=None, opening=None)
    assert (found.beyond_frontier, found.since_opening) == (None, None)
    assert found.sentence.count("unknown") == 2


def test_crossing_is_known_by_content_or_by_what_was_committed_with_the_copies() -> None:
    rows = [["orders.payments", 0, 7], ["orders.payments", 1, 9]]
    assert _frontier({"frontier": rows, "crossed": [["orders.payments", 0, 12]]}) == {ONE: 12, TWO: 9}
    assert _frontier({"frontier": [], "crossed": []}) is None


def test_a_journal_that_cannot_be_read_is_not_taken_for_nothing() -> None:
    with pytest.raises(NeedsPerson):
        _frontier({"rows": []})


def test_a_route_has_to_lead_to_the_active_cluster() -> None:
    def leading_to(cluster: str) -> Route:
        return Route("orders", cluster, "localhost:1", 1, AT)

    assert judge_route(a_state(), leading_to("east")).outcome == "ok"
    assert judge_route(a_state(), leading_to("west")).outcome == "failed"
    assert judge_route(a_state(), None).outcome == "failed"
    assert judge_route(a_state(phase=Phase.SWITCHING), leading_to("west")).outcome == "failed"
    handing_over = a_state(phase=Phase.HANDED_OVER, active="west", standby="east")
    assert judge_route(handing_over, leading_to("east")).outcome == "ok"


@pytest.mark.parametrize(
    ("behind", "age", "phase", "outcome"),
    [
        (301.0, 60, Phase.STABLE, "failed"),
        (300.0, 60, Phase.STABLE, "ok"),
        (None, 60, Phase.STABLE, "ok"),
        (301.0, 901, Phase.STABLE, "ok"),
        (301.0, 60, Phase.SWITCHING, "ok"),
    ],
)
def test_a_copy_too_far_behind_proposes_the_planned_failover_and_no_other(
    behind: float | None, age: int, phase: Phase, outcome: str
) -> None:
    at, oldest = AT - timedelta(seconds=age), AT - timedelta(seconds=900)
    kept = AuditResult(AuditKind.LAG, "orders", "east", "west", 1, AuditVerdict.RED, at, "red", behind_seconds=behind)
    check = judge_lag(a_state(phase=phase), kept, oldest=oldest, threshold=300)
    assert check.outcome == outcome
    assert ("dr_planned_failover can move orders as soon as" in check.detail) is (outcome == "failed")


def test_without_a_lag_audit_nothing_is_proposed() -> None:
    assert judge_lag(a_state(), None, oldest=AT, threshold=300).outcome == "ok"
