"""Start the reverse flow, from the log ends at which the target was opened, and settle the register.

Where copies have other names than their originals, the flows of both directions run always, and none is started.

The old cluster stays fenced and frozen. If it does not answer, or if the old flow is not seen stopped, the group is
settled all the same. The reverse flow is then pending, and ``dr_flows`` starts it later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr import parallel
from kafka_dr.checks.writes_after_fence import WritesAfterFence, find_writes_after_fence
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned.stop_flow import replicator_refused
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.register.transitions import settled
from kafka_dr.replication.flow import Flow
from kafka_dr.runs import background
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import register_settled, settle, settled_facts
from kafka_dr.runs.start_flow import begin, seed_of

#: How long the flows to further standbys may take to answer, all at the same time.
_STOP_SECONDS = 5.0


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    if not run.opens_copy:
        return (f"settle the register: stable, active on {run.target}; both flows continue",)
    return (
        f"see that {run.flow.name} has stopped",
        f"lift the DENY of {run.group.replicator_principal} on {run.source} and seed {run.flow_back.name} at "
        f"the journaled log ends of {run.target}",
        f"settle the register: stable, active on {run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Start the reverse flow if the old cluster answers, and settle the register."""
    state = run.record()
    _look_once_more(run)
    begun = _reverse(run, state) if run.opens_copy else {"flow_pending": ""}
    state = settle(run, lambda held: settled(held, run=run.request.run, at=run.clock.now()))
    try:
        run.clients.register(run.source).copy(state)
    except KafkaDrError as error:
        begun["flow_pending"] = begun["flow_pending"] or str(error)
    return {**settled_facts(state), **begun}


def _reverse(run: Run, state: RegisterState) -> dict[str, Any]:
    """Start the flow from the new active cluster and stop those from the old one; return where it begins."""
    new_ends, old_ends = (positions_from_json(run.fact(name)["ends"]) for name in ("target_ends", "source_ends"))
    seed = seed_of(run, run.flow_back, epoch=state.epoch, on_source=new_ends, on_target=old_ends).to_json()
    run.write_fact(FLOW_SEED, seed, needed_on=[run.target])
    pending, _ = parallel.at_once(
        lambda: _not_stopped(run) or try_reverse_flow(run, state), lambda: _stop_further_flows(run, state)
    )
    return {"seed": seed, "flow_pending": pending}


def _stop_further_flows(run: Run, state: RegisterState) -> None:
    """Ask the flows from the old cluster to further standbys to stop; ``dr_flows`` proves that, and starts new ones."""
    names = [name for name in state.standbys if name != run.source]
    if names:
        run.guard(state.phase).require()
        stops = {name: run.clients.replicator(Flow(state.group, run.source, name)).stop for name in names}
        background.answers_within(stops, seconds=_STOP_SECONDS)


def _look_once_more(run: Run) -> None:
    """Ask again what was written to the old cluster after the fence, if that is unknown: soon the flow writes there."""
    verified = run.fact("verified")
    if WritesAfterFence.from_part(verified).ends is None:
        run.write_fact("verified", {**verified, **find_writes_after_fence(run).to_json()}, needed_on=[run.target])


def prove(run: Run) -> Sequence[Check]:
    """The register is settled, the old flow and the old cluster are fenced, and the reverse flow runs."""
    settled_with = (register_settled(run, Phase.STABLE), replicator_refused(run))
    try:
        refused = run.writes_refused(run.source)
        status = run.clients.replicator(run.flow_back).wait_running(run.group.timing.protect_wait_seconds)
    except KafkaDrError as error:
        # The group is settled all the same: the old cluster may be lost for good. The facts call the flow pending.
        return (
            *settled_with,
            Check(
                "reverse_flow",
                "excused",
                f"{run.flow_back.name} is pending, and dr_flows starts it later: {error}",
            ),
        )
    said = f"{run.flow_back.name} has {status.tasks} tasks and is {status}"
    return (
        *settled_with,
        refused.named("old_cluster_refuses"),
        Check.that("reverse_flow", status.state == "running", said),
    )


def _not_stopped(run: Run) -> str:
    """Wait until the old flow is seen stopped; return why it is not, or nothing."""
    try:
        run.clients.replicator(run.flow).wait_stopped(run.group.timing.protect_wait_seconds)
    except KafkaDrError as error:
        return str(error)
    return ""


def try_reverse_flow(run: Run, state: RegisterState) -> str:
    """Start the reverse flow; return why it is pending, or nothing."""
    try:
        begin(
            run,
            run.flow_back,
            lambda: positions_from_json(run.fact("target_ends")["ends"]),
            epoch=state.epoch,
            guard=run.guard(state.phase),
        )
    except KafkaDrError as error:
        return str(error)
    return ""
