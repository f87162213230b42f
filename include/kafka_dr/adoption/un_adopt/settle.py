"""Close the group's register: it is not adopted any more, and its epoch is never used again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.transitions import released
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import registers_agree, settle, settled_facts


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"write to the registers that {run.group.name} is released; the route stays as it is",)


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the active cluster's register, then copy the record to all others."""
    at = run.clock.now()
    state = settle(run, lambda state: released(state, run=run.request.run, at=at))
    # No check updates the register of a released group.
    for name in run.further_standbys:
        run.clients.register(name).copy(state)
    return settled_facts(state)


def prove(run: Run) -> Sequence[Check]:
    """All registers hold the same record."""
    return (registers_agree(run, Phase.RELEASED, *run.further_standbys),)
