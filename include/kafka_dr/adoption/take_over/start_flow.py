"""Start this project's flow exactly where the copy ends, and see it move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_from_standby
from kafka_dr.register.taken_over import BEGINS
from kafka_dr.replication.moving import data_ends, flow_moves
from kafka_dr.runs.run import Run
from kafka_dr.runs.start_flow import begin, seed_of
from kafka_dr.waiting import wait_until


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    said = f"journal where the flow begins, create {run.flow.name} stopped, give it these positions, and start it"
    back = f"journal that {run.flow_back.name} begins at the start; dr_flows starts it when the group is adopted"
    return (said,) if run.opens_copy else (said, back)


def act(run: Run) -> Mapping[str, Any]:
    """Journal the seed, then seed and start the flow; one that was seeded for this run is only started."""
    state, begins = run.record(), run.fact(BEGINS)
    on_source, on_target = (positions_from_json(begins[name]) for name in ("on_source", "on_target"))
    seed = replace(
        seed_of(run, run.flow, epoch=state.epoch, on_source=on_source, on_target=on_target), mode="take_over"
    )
    if (journaled := run.journal.get(FLOW_SEED)) is None:
        run.write_fact(FLOW_SEED, seed.to_json())
    else:
        # What was journaled before is what the flow may have begun with.
        seed = FlowSeed.from_json(journaled)
    if not run.opens_copy and (fact := fact_of_from_standby(run.target, run.source)) not in run.journal:
        # dr_flows starts it: nothing was copied to the active cluster.
        back = FlowSeed(state.epoch, run.target, run.source, on_source={}, mode="start")
        run.write_fact(fact, back.to_json())
    TakeOverContext(run).require_still()
    begin(run, run.flow, lambda: seed.on_source, epoch=state.epoch, guard=run.guard(Phase.ADOPTING))
    return {"seeded": len(seed.on_source), "epoch": seed.epoch}


def prove(run: Run) -> Sequence[Check]:
    """The flow runs, was seeded by this run, and copies what is there to copy."""
    replicator, seconds = run.clients.replicator(run.flow), run.group.timing.protect_wait_seconds
    status = replicator.wait_running(seconds)
    seed = FlowSeed.from_json(run.own_fact(FLOW_SEED))
    found = replicator.where()
    source = run.clients.cluster(run.source, "audit")
    ends = source.topics.last_stable_offsets(run.partitions(run.source))
    waiting = data_ends(source, seed.on_source, ends)
    moving = wait_until(
        lambda: flow_moves(seed.on_source, replicator.positions(), waiting),
        lambda seen: seen.verdict != "stuck",
        clock=run.clock,
        seconds=seconds,
    )
    said = f"{run.flow.name} was seeded for epoch {found.seed_epoch}, expected {seed.epoch}"
    return (
        Check.that("flow_runs", status.state == "running", f"{run.flow.name} is {status}"),
        Check.that("flow_was_seeded", found.seed_epoch == seed.epoch, said),
        Check("flow_moves", "ok" if moving.verdict in ("moves", "idle") else "failed", moving.detail),
    )
