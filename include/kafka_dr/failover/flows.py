"""Flows of a group, kept as the register says: compared, mended, and seen to move."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

from kafka_dr.errors import Refused
from kafka_dr.failover.request import RunRequest
from kafka_dr.failover.run import Run, positions_from_json
from kafka_dr.failover.watched import Watched, WatchOutcome, at_rest
from kafka_dr.failover.world import World
from kafka_dr.fencing import plan
from kafka_dr.register import RegisterState
from kafka_dr.replication import (
    Flow,
    FlowSeed,
    Mm2Replicator,
    Moving,
    apply_flows,
    data_ends,
    flow_moves,
    observe,
    plan_flows,
)

_LOOK_SECONDS = 1.0
#: How long a flow that was just started may seem stuck.
_START_SECONDS = 20.0
_OUTCOMES: dict[str, WatchOutcome] = {"moves": "ok", "idle": "ok", "stuck": "failed", "unknown": "unknown"}


def tend_flows(group: str, world: World) -> Watched:
    """Bring the group's connectors to what the register says, if it stands still, and see that they move.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    :raises TryAgain: a cluster or a Connect cluster does not answer
    """
    run = Run(RunRequest(group, "flows"), world)
    state = at_rest(group, run.read_standing())
    if isinstance(state, Watched):
        return state
    replicators = {flow: world.replicator(flow) for flow in _flows(run)}
    seed = newest_seed(world.register(state.active).history(group), state)
    planned = plan_flows(group, state, [observe(each) for each in replicators.values()], seed)
    said = [str(change) for change in planned.changes]
    let_in = [] if planned.problems else _let_replicator_in(run, state)
    apply_flows(
        planned,
        replicators,
        still=lambda: run.read_standing() == state,
        deadline_seconds=run.group.timing.step_deadline_seconds,
    )
    if planned.problems:
        return Watched(group, "failed", (*said, *planned.problems))
    wanted = replicators[Flow(group, state.active, state.standby)]
    moving = _moving(run, state, wanted, patience=_START_SECONDS if planned.acts else 0.0)
    return Watched(
        group, _OUTCOMES[moving.verdict], (*let_in, *said, f"{wanted.flow} {moving.verdict}: {moving.detail}")
    )


def newest_seed(history: Mapping[str, Mapping[str, Any]], state: RegisterState) -> FlowSeed | None:
    """Return the newest seed that was journaled up to the register's epoch.

    A roll back raises the epoch and leaves the direction as it was: the seed before it still holds.

    :param history: everything journaled about the group, by run and fact
    """
    seeds = [facts["flow_seed"] for facts in history.values() if "flow_seed" in facts]
    reached = [seed for seed in seeds if int(seed["epoch"]) <= state.epoch]
    if not reached:
        return None
    newest = max(reached, key=lambda seed: int(seed["epoch"]))
    return FlowSeed(
        epoch=int(newest["epoch"]),
        flow=Flow(state.group, newest["source"], newest["target"]),
        positions=positions_from_json(newest["source_positions"]),
        keeps_place=newest.get("mode") == "continue",
    )


def _flows(run: Run) -> list[Flow]:
    return [Flow(run.group.name, source, target) for source, target in permutations(run.group.clusters, 2)]


def _let_replicator_in(run: Run, state: RegisterState) -> list[str]:
    """Lift the replicator's DENY on a standby that could not be reached when it became one."""
    unwanted = plan.flow_fence(run.group)
    standing = run.operator(state.standby).acls.list()
    if not unwanted & standing:
        return []
    if missing := plan.standby(run.group) - standing:
        raise Refused(f"{state.standby} lacks {len(missing)} DENYs of a standby: no flow may write there before")

    def permission() -> None:
        if run.read_standing() != state:
            raise Refused(f"the register of {state.group} changed meanwhile: no ACL was changed, plan again")

    lifted = run.acl_changes(state.standby, permission).lift(unwanted)
    return [f"let {run.group.replicator_principal} write on {state.standby}"] if lifted else []


def _moving(run: Run, state: RegisterState, replicator: Mm2Replicator, *, patience: float) -> Moving:
    """Judge by progress between two looks; right after a start, by the first two that show some."""
    clock, source = run.clock, run.operator(state.active)
    until = clock.monotonic() + patience
    while True:
        before = replicator.positions()
        ends = data_ends(source, before, source.topics.last_stable_offsets(run.partitions(state.active)))
        clock.sleep(_LOOK_SECONDS)
        status = replicator.status()
        verdict = flow_moves(before, replicator.positions(), ends)
        if status.state != "running":
            verdict = Moving("stuck", f"{replicator.flow.connector} is {status.state} {status.detail}".rstrip())
        if verdict.verdict in ("moves", "idle") or clock.monotonic() > until:
            return verdict
