"""Replicate the other way round, from exactly where the target stood when it opened, and settle the register.

The old side stays fenced and frozen. If it cannot be reached the group is settled all the same, its flow pending.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.failover.record import Check, standing_facts
from kafka_dr.failover.run import Run, positions_from_json
from kafka_dr.fencing import plan
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import settled


def check(run: Run) -> Sequence[Check]:
    """Nothing besides the register, which the runner has asked."""
    return ()


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"lift the DENY of {run.group.replicator_principal} on {run.source} and seed {run.flow.reverse.connector} at "
        f"the journaled ends of {run.target}",
        f"settle the register: stable, active on {run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Turn the flow round if the old side answers, and settle the register."""
    state = run.standing
    if state is None:
        raise NeedsPerson(f"no register has a record of {run.group.name} any more")
    seed = {
        "epoch": state.epoch,
        "source": run.target,
        "target": run.source,
        "source_positions": run.fact("target_ends")["ends"],
        "target_positions": run.fact("source_ends")["ends"],
    }
    run.write_fact("flow_seed", seed, needed_on=[run.target])
    pending = turn_round(run, state)
    if state.phase is Phase.HANDED_OVER:
        before, state = state, settled(state, run=run.request.run, at=run.clock.now())
        run.world.register(run.target).compare_and_set(before, state)
    try:
        run.world.register(run.source).copy(state)
    except KafkaDrError as error:
        pending = pending or str(error)
    return {**standing_facts(state), "seed": seed, "settled_at": state.at, "flow_pending": pending}


def prove(run: Run) -> Sequence[Check]:
    """The register is settled, the old side refuses, the reverse flow started where it was seeded."""
    state = run.world.register(run.target).read(run.group.name)
    stable = state is not None and state.phase is Phase.STABLE and state.active == run.target
    register = Check.that("register_settled", stable, f"{run.target}'s register says {state.phase if state else None}")
    try:
        refused = run.writes_refused(run.source)
        status = run.world.replicator(run.flow.reverse).wait_running(run.group.timing.protect_wait_seconds)
    except KafkaDrError as error:
        # Settled all the same: the side that was left may be gone for good, and the facts say that its flow waits.
        return (register, Check("old_side_is_no_longer_active", "ok", f"flow pending, {run.source} is silent: {error}"))
    said = f"{run.flow.reverse.connector} is {status.state} with {status.tasks} tasks"
    return (
        register,
        Check.of("old_side_refuses", refused),
        Check.that("reverse_flow", status.state == "running", said),
    )


def turn_round(run: Run, state: RegisterState) -> str:
    """Start the reverse flow; return why that has to wait, or nothing."""
    try:
        permission = run.permission(state.phase)
        run.acl_changes(run.source, permission).lift(plan.flow_fence(run.group))
        reverse = run.world.replicator(run.flow.reverse)
        if reverse.ensure(stopped=True) == "created":
            reverse.wait_stopped(run.group.timing.step_deadline_seconds)
        # A flow that was seeded for this epoch may have copied since: seeding it again would copy that twice.
        if reverse.where().seed_epoch != state.epoch:
            permission()
            reverse.stop()
            reverse.wait_stopped(run.group.timing.step_deadline_seconds)
            permission()
            reverse.seed(positions_from_json(run.fact("target_ends")["ends"]), epoch=state.epoch)
        permission()
        reverse.resume()
    except KafkaDrError as error:
        return str(error)
    return ""
