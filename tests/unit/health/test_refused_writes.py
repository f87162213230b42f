"""When a run refuses writes for too long, whatever else it does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.health.refused_writes import check_refused_writes, longest_outage
from kafka_dr.health.stalled_runs import check_run
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, Verb
from kafka_dr.register.holding import Author
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.signs_of_life import ALIVE
from support.failing_storage import StoredClients
from support.manual_clock import ManualClock
from support.register_states import AT, a_state
from support.sentences import assert_sentence

FENCED = {"fence_begun": {"at": AT.isoformat()}}
OPENED = {"opened": {"at": (AT + timedelta(seconds=3)).isoformat()}}
PLANNED: Verb = "planned_failover"


def judged(
    *journals: dict[str, Any], after: float, phase: Phase = Phase.SWITCHING, verb: Verb = PLANNED
) -> Check | None:
    state = a_state(phase=phase, run="run-7", epoch=4, verb=verb, at=AT)
    now = AT + timedelta(seconds=after)
    return check_refused_writes(state, journals, now=now, allowed=longest_outage(15))


@pytest.mark.parametrize(("objective", "seconds"), [(5, 30), (10, 30), (15, 45), (60, 180)])
def test_a_run_may_refuse_writes_for_three_times_the_objective_and_at_least_half_a_minute(
    objective: float, seconds: float
) -> None:
    assert longest_outage(objective) == timedelta(seconds=seconds)


def test_a_run_that_refuses_writes_for_longer_is_named_with_the_commands_that_end_it() -> None:
    assert judged(FENCED, after=45) is None
    found = judged(FENCED, after=46)
    assert found is not None
    assert (found.name, found.outcome) == ("half_moved", "failed")
    assert_sentence(found.detail)


def test_one_register_that_knows_the_fence_or_the_opening_is_enough() -> None:
    assert judged({}, FENCED, after=46) is not None
    assert judged(FENCED, FENCED | OPENED, after=46) is None


def test_after_the_hand_over_writes_are_refused_until_the_target_is_open_and_no_abandoning_is_advised() -> None:
    found = judged(FENCED, after=46, phase=Phase.HANDED_OVER)
    assert found is not None
    assert "abandon" not in found.detail
    assert judged(FENCED | OPENED, after=4600, phase=Phase.HANDED_OVER) is None


def test_a_run_that_has_fenced_nothing_or_holds_nothing_refuses_no_writes() -> None:
    assert judged({}, after=4600) is None
    for phase in (Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED):
        assert judged(FENCED, after=4600, phase=phase) is None


def test_a_run_with_a_dead_source_refuses_writes_since_its_claim() -> None:
    assert judged({}, after=45, verb="unplanned_failover") is None
    assert judged({}, after=46, verb="unplanned_failover") is not None


def test_a_run_that_shows_life_and_files_evidence_is_named_all_the_same(tmp_path: Path) -> None:
    clients = StoredClients(tmp_path)
    clock = clients.clock
    assert isinstance(clock, ManualClock)
    state = a_state(phase=Phase.SWITCHING, run="run-7", verb=PLANNED, at=clients.clock.now(), attempt=1)
    author = Author("run-7", state.epoch, state.attempt, holds=True)
    for register in clients.registers.values():
        register.compare_and_set(None, state)
        begun = {"at": clients.clock.now().isoformat()}
        register.write_fact("orders", "run-7", "fence_begun", begun, by=author)
    group = GroupContext("orders", clients)
    seconds = longest_outage(group.group.objectives.write_outage_seconds).total_seconds()

    def seen(after: float) -> str:
        clock.advance(after)
        started = Attempt.start("orders", "run-7", clients, "drain", 5, without_storage="always")
        started.end(clients, "done", "it drained")
        alive = {"epoch": state.epoch, "attempt": 1, "at": clients.clock.now().isoformat(), "ended": False}
        for register in clients.registers.values():
            beat = alive | {"began_at": clients.clock.now().isoformat()}
            register.write_fact("orders", "run-7", ALIVE, beat, by=author)
        return check_run(group, state).outcome

    assert [seen(seconds), seen(1)] == ["ok", "failed"]
