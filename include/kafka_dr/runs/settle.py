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
    copies = {name: partial(run.clients.register(name).copy, state) for name in run.further_standbys}
    if copies:
        background.answers_within(copies, seconds=OTHERS_SECONDS)


def settled_facts(state: RegisterState) -> dict[str, Any]:
    """Return the facts of a step that settles a group."""
    return {**standing_facts(state), "settled_at": state.at}


def registers_agree(run: Run, phase: Phase, *further: str) -> Check:
    """Return whether the registers of source, target and further standbys hold the same record, with a phase."""
    names = dict.fromkeys((run.source, run.target, *further))
    found = [run.clients.register(name).read(run.group.name) for name in names]
    first = found[0]
    agree = first is not None and first.run_phase is phase and all(each == first for each in found)
    each = "both" if len(names) == 2 else "all"
    said = f"{each} registers call {run.group.name} {phase}, active on {run.source}"
    wrong = f"{' and '.join(names)} do not {each} call {run.group.name} {phase}: run the step again"
    return Check.that("registers_agree", agree, said if agree else f"the registers of {wrong}")


def register_settled(run: Run, *phases: Phase) -> Check:
    """Return whether the target's register says that the group is active there, in one of these phases."""
    state = run.clients.register(run.target).read(run.group.name)
    settled = state is not None and state.active == run.target and state.run_phase in phases
    said = f"the register of {run.target} says {state.run_phase if state else 'nothing'} of {run.group.name}"
    expected = f", expected {' or '.join(phases)} with {run.target} active: run the step again"
    return Check.that("register_settled", settled, said if settled else said + expected)
