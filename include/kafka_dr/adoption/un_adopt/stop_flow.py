"""Stop this project's flow before the existing replication gets its positions; or leave it as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.fencing import open_transactions
from kafka_dr.named_rows import positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.run import Run

#: The name of the fact: next to read of the stopped flow.
FLOW_STOPPED = "flow_stopped"


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    context = ReleaseContext(run)
    if context.hand_back_to == "own_flow":
        return tuple(f"leave {flow.name} as it is: it continues to copy" for flow in context.flows_to_all)
    stops = tuple(f"stop {flow.name} and end its transactions" for flow in context.flows)
    return (*stops, f"journal how far {run.flow.name} has copied")


def act(run: Run) -> Mapping[str, Any]:
    """Stop the flow and journal its positions, unless it stays."""
    context = ReleaseContext(run)
    if context.hand_back_to == "own_flow":
        return {"flow": "left running"}
    if FLOW_STOPPED in run.journal:
        return {"flow": "stopped before"}
    guard, seconds = run.guard(Phase.RELEASING), run.group.timing.step_deadline_seconds
    for flow in context.flows:
        replicator = run.clients.replicator(flow)
        guard.require()
        replicator.stop()
        replicator.wait_stopped(seconds)
        guard.require()
        run.operator(flow.target).transactions.take_over(replicator.transactional_ids())
    positions = run.clients.replicator(run.flow).positions()
    run.write_fact(FLOW_STOPPED, {"positions": positions_to_json(positions)})
    return {"flow": "stopped", "positions": len(positions)}


def prove(run: Run) -> Sequence[Check]:
    """The flow is stopped and nothing of it is open on the standby; or it runs, if it stays."""
    context = ReleaseContext(run)
    if context.hand_back_to == "own_flow":
        return (context.own_flows("flow_is_left"),)
    states = {flow.name: run.clients.replicator(flow).status() for flow in context.flows}
    said = ", ".join(f"{name} is {status}" for name, status in states.items())
    held = open_transactions.wait_until_stable(
        run.operator(run.target),
        run.written_by_flows(run.target),
        clock=run.clock,
        deadline_seconds=run.group.timing.step_deadline_seconds,
    ).held_back
    open_said = f"open transactions on {run.target} hold back {', '.join(map(str, sorted(held)[:3]))}"
    return (
        Check.that("flow_is_stopped", all(status.at_rest for status in states.values()), said),
        Check.that("nothing_open", not held, open_said if held else f"no transaction is open on {run.target}"),
    )
