"""When a run that holds a group counts as stalled."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kafka_dr.health.stalled_runs import check_progress
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, Verb
from support.register_states import AT, a_state
from support.sentences import assert_sentence

ALLOWED = timedelta(minutes=3)


@pytest.mark.parametrize("phase", [Phase.SWITCHING, Phase.HANDED_OVER, Phase.ADOPTING, Phase.RELEASING])
def test_a_run_that_holds_a_group_and_makes_no_progress_is_named(phase: Phase) -> None:
    state = a_state(phase=phase, run="run-7", epoch=4)
    check = check_progress(state, last=AT + timedelta(minutes=1), now=AT + timedelta(minutes=5), allowed=ALLOWED)
    assert check.outcome == "failed"
    assert "run-7" in check.detail
    assert "dr_resume" in check.detail
    assert_sentence(check.detail)
    assert ("python -m kafka_dr abandon" in check.detail) is (phase is not Phase.HANDED_OVER)


def test_a_run_makes_progress_by_its_register_record_or_by_its_newest_step() -> None:
    state = a_state(phase=Phase.SWITCHING)
    for last in (None, AT - timedelta(hours=1)):
        assert check_progress(state, last=last, now=AT + timedelta(minutes=3), allowed=ALLOWED).outcome == "ok"
    later = AT + timedelta(minutes=60)
    assert check_progress(state, last=later - timedelta(minutes=2), now=later, allowed=ALLOWED).outcome == "ok"
    assert check_progress(state, last=None, now=later, allowed=ALLOWED).outcome == "failed"


def test_nobody_is_advised_to_abandon_a_run_after_its_hand_over() -> None:
    state = a_state(phase=Phase.HANDED_OVER)
    check = check_progress(state, last=None, now=AT + timedelta(hours=1), allowed=ALLOWED)
    assert "abandon" not in check.detail


@pytest.mark.parametrize("phase", [Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED, Phase.RELEASED])
def test_a_settled_group_has_no_stalled_run(phase: Phase) -> None:
    check = check_progress(a_state(phase=phase), last=None, now=AT + timedelta(days=9), allowed=ALLOWED)
    assert check.outcome == "ok"


@pytest.mark.parametrize(("verb", "decision"), [("planned_failover", "finish"), ("roll_back", "abandon")])
def test_a_run_that_settled_a_group_without_a_seal_is_named(verb: Verb, decision: str) -> None:
    state = a_state(phase=Phase.STABLE, run="run-7", epoch=4, verb=verb)

    def judged(minutes: int, *, sealed: bool = False, last: datetime | None = AT) -> Check:
        now = AT + timedelta(minutes=minutes)
        return check_progress(state, last=last, now=now, allowed=ALLOWED, sealed=sealed)

    assert judged(9).outcome == "failed"
    assert_sentence(judged(9).detail)
    # Its report may still be running, and the evidence of a run may be in another store.
    assert judged(2).outcome == judged(9, sealed=True).outcome == judged(9, last=None).outcome == "ok"
