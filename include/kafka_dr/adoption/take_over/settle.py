"""Write the route, then the record that the group is adopted: the last act, after which nothing is given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.adoptable import route_agrees
from kafka_dr.adoption.first_route import write_first_route
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.errors import NeedsPerson
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import taken_over
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import registers_agree, settle, settled_facts


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    said = (
        f"write a route to {run.source} if there is none",
        f"write to the registers that {run.group.name} is adopted: active on {run.source}, standby {run.target}",
    )
    own = f"then delete {TakeOverContext(run).existing.described}: nobody may start it again"
    return (*said, own) if run.group.existing_is_own else said


def act(run: Run) -> Mapping[str, Any]:
    """Write the route if there is none, compare and set the active cluster's register, copy it to the standby."""

    def ended(state: RegisterState) -> RegisterState:
        TakeOverContext(run).require_still()
        return taken_over(state, run=run.request.run, at=run.clock.now())

    route = write_first_route(run, run.record())
    state = settle(run, ended)
    if run.group.existing_is_own:
        _delete_existing(run)
    return {**settled_facts(state), "route": route}


def _delete_existing(run: Run) -> None:
    """Delete the existing replication, so that nobody starts it again: nothing denies what it writes.

    :raises NeedsPerson: it did not rest any more
    """
    existing = TakeOverContext(run).existing
    found = existing.status()
    if not found.at_rest:
        existing.stop(run.group.timing.step_deadline_seconds)
    existing.remove()
    if not found.at_rest:
        raise NeedsPerson(
            f"{found}: somebody started it again while {run.group.name} was adopted. It is deleted now; what it "
            "has copied meanwhile may be there twice: trigger DR 7: checksum audit, which counts it, and run this "
            "step again"
        )


def prove(run: Run) -> Sequence[Check]:
    """Both registers hold the same record, the standby refuses writes, the route leads to the active cluster."""
    return (
        registers_agree(run, Phase.STABLE),
        run.writes_refused(run.target).named("standby_refuses"),
        route_agrees(run, run.record()),
    )
