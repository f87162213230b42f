"""What ends a run in the register: the record that settles the group, and the proof that the registers hold it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs import background
from kafka_dr.runs.record import standing_facts
from kafka_dr.runs.register_read import OTHERS_SECONDS
from kafka_dr.runs.run import Run


def settle(run: Run, ended: Callable[[RegisterState], RegisterState]) -> RegisterState:
    """Compare and set the register that decides, unless that is done; copy the record if the source stays active.

    :param ended: returns the record with which the run no longer holds the group
    """
    state = run.record()
    if state.is_held:
        state = run.advance(ended(state))
    if state.active == run.source:
        run.clients.register(run.target).copy(state)
    tell_further_standbys(run, state)
    return state


def tell_further_standbys(run: Run, state: RegisterState) -> None:
    """Copy the record that ends a run to the registers of further standbys; ``dr_health`` does where none answers."""
    further = [name for name in state.standbys if name not in (run.source, run.target)]
    copies = {name: partial(run.clients.register(name).copy, state) for name in further}
    if copies:
        background.answers_within(copies, seconds=OTHERS_SECONDS)


def settled_facts(state: RegisterState) -> dict[str, Any]:
    """Return the facts of a step that settles a group."""
    return {**standing_facts(state), "settled_at": state.at}


def registers_agree(run: Run, phase: Phase) -> Check:
    """Return whether the registers of source and target hold the same record, with a phase."""
    source, target = (run.clients.register(name).read(run.group.name) for name in (run.source, run.target))
    agree = source is not None and source == target and source.run_phase is phase
    said = f"both registers call {run.group.name} {phase}, active on {run.source}"
    wrong = f"{run.source} and {run.target} do not both call {run.group.name} {phase}: run the step again"
    return Check.that("registers_agree", agree, said if agree else f"the registers of {wrong}")


def register_settled(run: Run, *phases: Phase) -> Check:
    """Return whether the target's register says that the group is active there, in one of these phases."""
    state = run.clients.register(run.target).read(run.group.name)
    settled = state is not None and state.active == run.target and state.run_phase in phases
    said = f"the register of {run.target} says {state.run_phase if state else 'nothing'} of {run.group.name}"
    expected = f", expected {' or '.join(phases)} with {run.target} active: run the step again"
    return Check.that("register_settled", settled, said if settled else said + expected)
