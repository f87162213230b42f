"""Close the group's register: it is not adopted any more, and its epoch is never used again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.transitions import released
from kafka_dr.runs.record import standing_facts
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"write to the registers that {run.group.name} is released; the route stays as it is",)


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the active cluster's register, then copy the record to the other one."""
    state = run.record()
    if state.phase is Phase.RELEASING:
        state = run.advance(released(state, run=run.request.run, at=run.clock.now()))
    run.clients.register(run.target).copy(state)
    return {**standing_facts(state), "settled_at": state.at}


def prove(run: Run) -> Sequence[Check]:
    """Both registers hold the same record."""
    states = [run.clients.register(name).read(run.group.name) for name in (run.source, run.target)]
    closed = states[0] is not None and states[0] == states[1] and states[0].phase is Phase.RELEASED
    said = f"both registers say that {run.group.name} is released"
    if not closed:
        said = (
            f"the registers of {run.source} and {run.target} do not both call {run.group.name} released: run it again"
        )
    return (Check.that("registers_agree", closed, said),)
