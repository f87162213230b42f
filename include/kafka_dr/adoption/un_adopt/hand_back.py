"""Let the existing replication continue after this project's flow, and lift every DENY that this project added.

From here on a release can only be finished: the existing replication may have copied records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.handing_back import denies_lifted, hand_over, let_run, lift_all, runs_again
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.adoption.un_adopt.stop_flow import FLOW_STOPPED
from kafka_dr.errors import Refused
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = ReleaseContext(run)
    clusters = " and ".join((run.source, *context.standbys))
    lift = f"lift every DENY that this project added for {run.group.name} on {clusters}"
    if context.hand_back_to == "own_flow":
        return (lift,)
    return (
        f"give the positions of {run.flow.name} to {context.existing.described}",
        *(f"remove {flow.name}" for flow in context.flows),
        f"lift the DENYs of its principal, and let it run as it did before the adoption; {lift}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Hand the positions over, remove this project's flow, lift the DENYs, resume the existing replication."""
    context, guard = ReleaseContext(run), run.guard(Phase.RELEASING)
    if context.ends_as("handed_back") != "handed_back":
        raise Refused(f"the release of {run.group.name} was abandoned: it stays adopted, and nothing is handed back")
    handed = _positions_handed_over(run, context) if context.hand_back_to == "existing" else "not wanted"
    lifted = sum(lift_all(run, cluster, guard) for cluster in (*context.standbys, run.source))
    resumed = "this project's flow continues"
    if context.hand_back_to == "existing":
        resumed = let_run(run, guard, context.existing, context.was)
    return {"positions": handed, "denies_lifted": lifted, "copies_now": resumed}


def prove(run: Run) -> Sequence[Check]:
    """None of this project's DENYs is left, and what copies the topics now runs."""
    return (denies_lifted(run), _copies(run))


def _copies(run: Run) -> Check:
    context, name = ReleaseContext(run), "replication_runs"
    if context.hand_back_to == "own_flow":
        return context.own_flows(name)
    return runs_again(name, context.existing, context.was)


def _positions_handed_over(run: Run, context: ReleaseContext) -> str:
    """Give the existing replication the positions of the flow that replaced it, then remove this project's flows."""
    positions = positions_from_json(run.fact(FLOW_STOPPED)["positions"])
    guard = run.guard(Phase.RELEASING)
    found = hand_over(run, guard, context.existing, positions)
    for flow in context.flows:
        guard.require()
        run.clients.replicator(flow).remove()
    return str(found)
