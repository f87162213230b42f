"""Take a protection group under the register: its first record, its first fence, its first flow.

Only where no cluster has a record; a rerun completes what an interrupted one began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.adoptable import adoptable, first_flow, route_agrees
from kafka_dr.checks.cluster_checks import right_clusters
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan, proof
from kafka_dr.fencing.change import AclChanges, Permission
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import adopted
from kafka_dr.routing import Route
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.offset_rows import positions_to_json
from kafka_dr.runs.record import Check, StepOutcome, StepRecord, shortfall
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run

_NUMBER = 1


def adopt(group: str, clients: Clients, run: str) -> StepRecord:
    """Adopt a group, or complete an adoption that was interrupted.

    :param run: the run's id, Airflow's ``run_id``
    :raises StepFailed: it could not be adopted; the record says why
    """
    request = RunRequest(group, run, verb="adopt")
    attempt = Attempt.start(request, clients, "adopt", _NUMBER)
    record = attempt.carry_out(clients, lambda: _go(Run(request, clients), attempt))
    clients.evidence.seal(group, run)
    return record


def _go(run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    active = run.group.initial_active
    standby = next(name for name in run.group.clusters if name != active)
    attempt.checks = (right_clusters(run, run.group.clusters),)
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    for name in run.group.clusters:
        brokers = len(run.operator(name).topics.identity().brokers)
        run.clients.register(name).create(replication_factor=min(3, brokers))
    standing = run.register_state
    if standing is not None and not _is_adoption(standing):
        return "passed", f"{run.group.name} is adopted: {standing.phase} on {standing.active} (epoch {standing.epoch})"
    state = standing or adopted(run.group.name, active=active, standby=standby, run=run.request.run, at=run.clock.now())
    attempt.checks += tuple(adoptable(run, state))
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    attempt.facts = _complete(run, state)
    attempt.proofs = tuple(_proofs(run, state))
    stands = f"{run.group.name} is adopted: active on {state.active}, standby {state.standby}"
    return shortfall(attempt.proofs, failed="failed") or ("done", stands)


def _is_adoption(state: RegisterState) -> bool:
    return state.verb == "adopt" and state.epoch == 1 and state.phase is Phase.STABLE


def _complete(run: Run, state: RegisterState) -> Mapping[str, Any]:
    """Write the record, the active's first; fence the standby; place the flow; write the route."""
    for name in (state.active, state.standby):
        run.clients.register(name).copy(state)
    run.acl_changes(state.active, _still(run, state)).add(plan.flow_fence(run.group))
    fence = run.acl_changes(state.standby, _still(run, state))
    added = fence.add(*plan.standby_in_order(run.group))
    seed = _place_flow(run, state, fence)
    return {"epoch": state.epoch, "denies_added": len(added), "seed": seed, "route": _write_route(run, state)}


def _still(run: Run, state: RegisterState) -> Permission:
    def ask() -> None:
        found = run.clients.register(state.active).read(run.group.name)
        if found != state:
            raise Refused(f"{state.active}'s register changed during the adoption: no ACL was changed")

    return ask


def _place_flow(run: Run, state: RegisterState, fence: AclChanges) -> Mapping[str, Any]:
    """Journal where the flow begins: at the start, into empty topics only; a flow that runs already keeps its place.

    Only behind the fence the answer lasts. Whoever began to write on the standby just before it is let in again.

    :raises Refused: the standby has come into use since it was looked at
    """
    seed = run.clients.register(state.active).facts(run.group.name, state.run).get("flow_seed")
    if seed is None:
        first = first_flow(run, state)
        if first.problem:
            fence.lift(plan.standby(run.group))
            raise Refused(f"{state.standby} came into use while it was fenced, so it was opened again. {first.problem}")
        seed = {
            "epoch": state.epoch,
            "source": state.active,
            "target": state.standby,
            "source_positions": positions_to_json({}),
            "target_positions": positions_to_json({}),
            "mode": first.mode,
        }
    for name in (state.active, state.standby):
        run.clients.register(name).write_fact(run.group.name, state.run, "flow_seed", seed)
    return dict(seed)


def _write_route(run: Run, state: RegisterState) -> str:
    """Return where the route leads: one that there is already was compared with the record, or is by the proofs."""
    router = run.clients.router(run.group)
    before = router.read()
    if before is not None:
        return before.active
    servers = run.clients.topology.cluster(state.active).route_bootstrap_servers
    route = Route(run.group.name, state.active, servers, state.epoch, run.clock.now())
    router.switch(expected_epoch=None, route=route)
    return state.active


def _proofs(run: Run, state: RegisterState) -> Sequence[Check]:
    records = {name: run.clients.register(name).read(run.group.name) for name in (state.active, state.standby)}
    differing = [name for name, found in records.items() if found != state]
    said = "the registers agree" if not differing else f"the register of {', '.join(differing)} says something else"
    # Where replication has yet to create the topics there is no leader to ask.
    refused = (
        run.writes_refused(state.standby)
        if run.partitions(state.standby)
        else proof.acls_present(run.operator(state.standby), plan.standby(run.group), clock=run.clock)
    )
    return (
        Check.that("registers_agree", not differing, said),
        Check.of("standby_refuses", refused),
        route_agrees(run, state),
    )
