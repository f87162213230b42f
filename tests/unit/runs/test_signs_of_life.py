"""Whether a process still executes a run, as the register says it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.signs_of_life import ALIVE, SILENT_AFTER, alive, last_progress, show_end, showing_life
from kafka_dr.waiting import wait_until
from support.fake_registers import FakeRegisters
from support.manual_clock import ManualClock
from support.register_states import AT, a_state

CLAIMED = a_state(epoch=2, phase=Phase.SWITCHING, verb="planned_failover", run="run-1")
TAKEN = a_state(
    epoch=2, phase=Phase.SWITCHING, verb="planned_failover", run="run-1", attempt=3, executor="worker-1", attempt_at=AT
)
LATER = AT + SILENT_AFTER


def began(seconds: float) -> str:
    return (AT + timedelta(seconds=seconds)).isoformat()


def beat(seconds: float = 0, **changes: Any) -> dict[str, Any]:
    at = (AT + timedelta(seconds=seconds)).isoformat()
    return {ALIVE: {"epoch": 2, "attempt": 3, "executor": "worker-1", "at": at, "ended": False, **changes}}


@pytest.mark.parametrize(
    ("state", "facts"),
    [
        pytest.param(TAKEN, {}, id="taken a minute ago"),
        pytest.param(CLAIMED, {}, id="claimed a minute ago"),
        pytest.param(TAKEN, beat(), id="a beat of a minute ago"),
        pytest.param(TAKEN, beat(50, attempt=2), id="a beat of an earlier attempt"),
        pytest.param(TAKEN, beat(50, epoch=1), id="a beat of an earlier claim"),
        pytest.param(TAKEN, beat(59, ended=True), id="it has said that it ended"),
    ],
)
def test_a_run_that_nobody_executes(state: RegisterState, facts: dict[str, Any]) -> None:
    assert alive(state, facts, now=LATER) == ""


@pytest.mark.parametrize(
    ("state", "facts", "now"),
    [
        pytest.param(TAKEN, {}, AT + timedelta(seconds=59), id="just taken"),
        pytest.param(CLAIMED, {}, AT + timedelta(seconds=59), id="just claimed"),
        pytest.param(TAKEN, beat(1), LATER, id="a beat"),
        pytest.param(TAKEN, beat(0, attempt=2, ended=True), AT, id="an earlier attempt ended"),
        pytest.param(TAKEN, beat(100), LATER, id="a clock that is ahead"),
    ],
)
def test_a_run_that_may_still_be_executed(state: RegisterState, facts: dict[str, Any], now: Any) -> None:
    assert "run run-1 of orders is still being executed" in alive(state, facts, now=now)


def test_it_says_which_process_and_when() -> None:
    said = alive(TAKEN, beat(20), now=AT + timedelta(seconds=32))
    assert "the process worker-1 showed life 12 s ago, and only after 60 s it counts as dead" in said


def test_a_process_that_failed_says_that_it_has_ended() -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    clients = registers.clients(executor=Executor.here())
    show_end(clients, "orders", "run-1")
    assert registers.by_cluster["east"].facts("orders", "run-1") == {}
    state = Run(RunRequest("orders", "run-1"), clients).take()
    facts = registers.by_cluster["east"].facts("orders", "run-1")
    assert alive(state, facts, now=clients.clock.now())
    show_end(clients, "orders", "run-1")
    facts = registers.by_cluster["east"].facts("orders", "run-1")
    assert alive(state, facts, now=clients.clock.now()) == ""


@pytest.mark.parametrize("known_to_west", [False, True], ids=["never in west", "west says that it has the run still"])
def test_a_process_that_lost_the_run_says_nothing_more(known_to_west: bool) -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    lost, other = (registers.clients(executor=Executor.here()) for _ in range(2))
    state = Run(RunRequest("orders", "run-1"), lost).take()
    if known_to_west:
        registers.by_cluster["west"].copy(state)
    Run(RunRequest("orders", "run-1"), other).take()
    show_end(lost, "orders", "run-1")
    for register in registers.by_cluster.values():
        assert register.facts("orders", "run-1") == {}


def test_a_roll_back_shows_life_where_it_is_known_although_its_source_does_not_know_of_it_yet() -> None:
    rolled_back = replace(TAKEN, epoch=3, phase=Phase.STABLE, verb="roll_back", executor="worker-1")
    registers = FakeRegisters(east=CLAIMED, west=rolled_back)
    clients = registers.clients(executor=Executor("worker-1"))
    clients.executor.remember(rolled_back)
    show_end(clients, "orders", "run-1")
    assert [register.facts("orders", "run-1") != {} for register in registers.by_cluster.values()] == [False, True]


@pytest.mark.parametrize(
    ("state", "journals", "seconds"),
    [
        pytest.param(CLAIMED, [], None, id="no process took it since its claim"),
        pytest.param(TAKEN, [{}], 0, id="taken"),
        pytest.param(TAKEN, [{}, beat(90, step="drain", began_at=began(70))], 70, id="a long step"),
        pytest.param(TAKEN, [beat(90)], 0, id="a beat that says nothing of a step"),
    ],
)
def test_a_run_made_progress_when_a_process_took_it_or_began_a_step(
    state: RegisterState, journals: list[dict[str, Any]], seconds: float | None
) -> None:
    assert last_progress(state, journals) == (None if seconds is None else AT + timedelta(seconds=seconds))


def test_short_steps_of_one_process_share_its_beats_and_write_nothing_else() -> None:
    """A process of steps that last 15 seconds shows life as often as one with a step of a minute."""
    clock, registers = ManualClock(), FakeRegisters(east=CLAIMED, west=CLAIMED)
    clients = registers.clients(executor=Executor.here(), clock=clock)
    state = Run(RunRequest("orders", "run-1"), clients).take()

    def shown() -> dict[str, Any]:
        return registers.by_cluster["east"].facts("orders", "run-1")

    with showing_life(clients, state, "drain"):
        clock.advance(15)
    assert shown() == {}
    clock.advance(5)
    with showing_life(clients, state, "stop_flow"):
        assert wait_until(shown, bool, clock=SystemClock(), seconds=60)
    first = shown()
    assert (first[ALIVE]["step"], first[ALIVE]["began_at"]) == ("stop_flow", clock.now().isoformat())
    assert alive(state, first, now=clock.now() + timedelta(seconds=59))
    clock.advance(1)
    with showing_life(clients, state, "cut_over_groups"):
        pass
    assert shown() == first
