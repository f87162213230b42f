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
    """Compare and set the active cluster's register, then copy the record to the other one."""
    at = run.clock.now()
    return settled_facts(settle(run, lambda state: released(state, run=run.request.run, at=at)))


def prove(run: Run) -> Sequence[Check]:
    """Both registers hold the same record."""
    return (registers_agree(run, Phase.RELEASED),)
