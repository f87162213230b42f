"""Several processes execute one run: the last one that took it may change the group, and no other one may."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterConflict, RegisterState, transitions
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from support.fake_registers import FakeRegisters
from support.register_states import AT, a_state

CLAIMED = a_state(epoch=2, phase=Phase.SWITCHING, verb="planned_failover", run="run-1")
HANDED_OVER = transitions.handed_over(CLAIMED, run="run-1", at=AT)


def a_run(registers: FakeRegisters, *, verb: Any = "planned_failover") -> Run:
    """Return the run as a process of its own sees it."""
    return Run(RunRequest("orders", "run-1", verb=verb), registers.clients(executor=Executor.here()))


def held(registers: FakeRegisters, cluster: str) -> RegisterState:
    found = registers.by_cluster[cluster].read("orders")
    assert found is not None
    return found


def test_who_takes_a_run_is_in_the_register_and_the_phase_and_its_time_stay() -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    run = a_run(registers)
    state = run.take()
    assert state == run.register_state == held(registers, "east")
    assert (state.attempt, state.executor, state.revision) == (1, run.clients.executor.name, 1)
    assert (state.phase, state.epoch, state.at) == (Phase.SWITCHING, 2, CLAIMED.at)
    assert held(registers, "west") == CLAIMED, "the register that does not decide need not know"


def test_a_process_that_has_the_run_keeps_its_attempt() -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    clients = registers.clients(executor=Executor.here())
    taken = [Run(RunRequest("orders", "run-1"), clients).take() for _step in range(3)]
    assert taken == [held(registers, "east")] * 3


def test_a_process_that_lost_the_run_changes_nothing_and_does_not_take_it_again() -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    sleeper = a_run(registers)
    sleeper.take()
    guard = sleeper.guard(Phase.SWITCHING)
    guard.require()
    sleeper.write_fact("target_ends", {"n": 1})

    other = a_run(registers)
    other.take()
    other.write_fact("target_ends", {"n": 2})

    with pytest.raises(Refused, match="attempt 2 by"):
        guard.require()
    with pytest.raises(Refused, match="may not journal target_ends"):
        sleeper.write_fact("target_ends", {"n": 1})
    with pytest.raises(RegisterConflict):
        sleeper.advance(transitions.handed_over(sleeper.record(), run="run-1", at=AT))
    with pytest.raises(Refused, match="another one continues it"):
        Run(sleeper.request, sleeper.clients).take()
    assert other.record() == held(registers, "east")
    for register in registers.by_cluster.values():
        assert register.facts("orders", "run-1") == {"target_ends": {"n": 2}}


def test_of_two_processes_that_take_it_at_once_one_gives_up() -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    first, second = a_run(registers), a_run(registers)
    assert first.record() == second.record() == CLAIMED
    first.take()
    with pytest.raises(RegisterConflict):
        second.take()
    assert held(registers, "east") == first.record()


@pytest.mark.parametrize(
    ("east", "west", "verb", "decides"),
    [
        pytest.param(CLAIMED, CLAIMED, "planned_failover", "east", id="switching"),
        pytest.param(HANDED_OVER, HANDED_OVER, "planned_failover", "west", id="handed over"),
        pytest.param(HANDED_OVER, CLAIMED, "planned_failover", "west", id="handed over, not copied yet"),
    ],
)
def test_a_run_is_taken_where_the_register_decides(
    east: RegisterState, west: RegisterState, verb: str, decides: str
) -> None:
    registers = FakeRegisters(east=east, west=west)
    state = a_run(registers, verb=verb).take()
    assert (held(registers, decides), state.attempt) == (state, 1)


def test_an_unplanned_failover_is_taken_at_its_target_though_the_source_is_silent() -> None:
    claimed = a_state(epoch=1000, phase=Phase.SWITCHING, verb="unplanned_failover", run="run-1")
    registers = FakeRegisters(east=claimed, west=claimed)
    registers.silent.add("east")
    assert a_run(registers, verb="unplanned_failover").take() == held(registers, "west")


def test_a_claim_and_a_roll_back_begin_to_count_and_continue_to_count() -> None:
    taken = transitions.taken(CLAIMED, run="run-1", executor="a", at=AT)
    assert transitions.handed_over(taken, run="run-1", at=AT).attempt == 1
    undone = transitions.rolled_back(taken, run="run-1", at=AT, executor="b")
    assert (undone.attempt, undone.executor, undone.order) == (2, "b", (3, 0))
    claimed = transitions.claimed(
        undone, run="run-2", verb="planned_failover", source="east", target="west",
        highest_epoch=3, evidence_sha256="", approved_by="", at=AT,
    )  # fmt: skip
    assert (claimed.attempt, claimed.executor, claimed.attempt_at) == (0, "", None)
    with pytest.raises(Refused, match="not by run run-2"):
        transitions.taken(CLAIMED, run="run-2", executor="a", at=AT)


def test_facts_of_both_registers_differ_only_until_they_are_read() -> None:
    registers = FakeRegisters(east=CLAIMED, west=CLAIMED)
    registers.by_cluster["east"].write_fact("orders", "run-1", "target_ends", {"n": 2})
    registers.by_cluster["west"].write_fact("orders", "run-1", "target_ends", {"n": 1})
    assert a_run(registers).fact("target_ends") == {"n": 2}
    registers.set(west=HANDED_OVER)
    registers.by_cluster["west"].write_fact("orders", "run-1", "target_ends", {"n": 1})
    assert a_run(registers).fact("target_ends") == {"n": 1}
