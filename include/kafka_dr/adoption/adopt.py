"""Adopt a protection group: write its first record to the registers, fence its standbys and let its first flows start.

This is possible only while no register has a record of the group, or the group was released. A rerun completes an
interrupted adoption. Existing replication is taken over instead: see :mod:`kafka_dr.adoption.take_over`. An adopted
group gets the standbys that its record does not name yet: see :mod:`kafka_dr.adoption.add_standby`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from kafka_dr import parallel
from kafka_dr.adoption import add_standby, canary_topic
from kafka_dr.adoption.adoptable import adoptable, first_flow, old_copies, route_agrees
from kafka_dr.adoption.canary_topic import CanaryTopic
from kafka_dr.adoption.fenceable import seen_to_last, witness_intent
from kafka_dr.adoption.first_route import write_first_route
from kafka_dr.adoption.registers import create_registers
from kafka_dr.checks.cluster_checks import right_clusters
from kafka_dr.clusters.errors import NotFound, StaleMetadata
from kafka_dr.durations import duration
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.fencing import plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.fencing.closure import lacking
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_from_standby, fact_of_further
from kafka_dr.register.roles import Roles
from kafka_dr.register.transitions import adopted, way_out
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepOutcome, StepRecord, shortfall
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged
from kafka_dr.runs.sealing import seal_run
from kafka_dr.waiting import wait_until

_NUMBER = 1
#: How long brokers may take until they lead partitions that were just created, in seconds.
_LED_SECONDS = 60.0


def adopt(
    group: str, clients: Clients, run: str, *, dry_run: bool = False, create_canary_topic: bool = False
) -> StepRecord:
    """Adopt a group, or complete an adoption that was interrupted.

    :param run: the run's id, Airflow's ``run_id``
    :param create_canary_topic: whether a person said that a missing canary topic is to be created; otherwise it is
        refused
    :param dry_run: check everything, say what would be done, and change nothing
    :raises StepFailed: the group could not be adopted; the step record says why
    """
    attempt = Attempt.start(group, run, clients, "adopt", _NUMBER)
    if dry_run:
        # Also if it is refused: the evidence has to show that nothing was meant to happen.
        attempt.facts = {"dry_run": True, "verb": "adopt"}
    context = GroupContext(group, clients)
    asked = _Asked(run, dry_run, create_canary_topic)
    record = attempt.carry_out(clients, lambda: _go(context, asked, attempt))
    if not dry_run:
        # A seal is journaled, and a dry run writes to no register.
        seal_run(clients, group, run)
    return record


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an adoption was asked to do: see :func:`adopt`."""

    run: str
    dry_run: bool
    create_canary_topic: bool


def _go(context: GroupContext, asked: _Asked, attempt: Attempt) -> tuple[StepOutcome, str]:
    active = context.group.initial_active
    standbys = Roles.at_first(context.group.clusters, active).standbys
    attempt.checks = (right_clusters(context, context.group.clusters),)
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    context.look_for_topics(*context.group.clusters)
    for name in context.group.clusters:
        wait_until_led(context, name)
    if not asked.dry_run:
        create_registers(context)
    standing = context.read_register_state()
    if added := _added(context, asked, attempt, standing):
        return added
    if ended := _without_adopting(context, standing):
        return _with_its_route(context, standing, ended, dry_run=asked.dry_run)
    if standing is not None and _is_adoption(standing):
        state = standing
    else:
        name, now = context.group.name, context.clock.now()
        named = context.group.copies_named
        state = adopted(
            name, active=active, standbys=standbys, run=asked.run, at=now, before=standing, copies_named=named
        )
    canary = canary_topic.missing(context, active=active, standbys=standbys)
    found = canary_topic.judged(canary, name=context.group.canary_topic, create=asked.create_canary_topic)
    attempt.checks += (*adoptable(context, state), *old_copies(context, state, standing), found)
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    if asked.dry_run:
        attempt.intent = tuple(_intent(context, state, canary))
        said = f"dry run of an adoption of {context.group.name}: nothing was changed. A real run would make {active} "
        return "would_do", f"{said}the active cluster and {_fenced(standbys)}"
    lasting = parallel.ask_all(lambda cluster: seen_to_last(context, cluster, standing), context.group.clusters)
    attempt.checks += tuple(lasting.values())
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    return _adopt(context, state, canary, attempt)


def _adopt(
    context: GroupContext, state: RegisterState, canary: CanaryTopic | None, attempt: Attempt
) -> tuple[StepOutcome, str]:
    created = canary_topic.create(context, canary) if canary else ()
    if created:
        wait_until_led(context, state.active)
    attempt.facts = {**_complete(context, state), "canary_topic_created_on": list(created)}
    attempt.proofs = tuple(_proofs(context, state))
    said = f"{context.group.name} is adopted: active on {state.active}, standby {' and '.join(state.standbys)}"
    return shortfall(attempt.proofs, failed="failed") or ("done", said)


def _fenced(standbys: Sequence[str]) -> str:
    return f"{' and '.join(standbys)} its fenced standby{'s' if len(standbys) > 1 else ''}"


def _added(
    context: GroupContext, asked: _Asked, attempt: Attempt, standing: RegisterState | None
) -> tuple[StepOutcome, str] | None:
    """Add the standby that the record of an adopted group lacks; ``None`` if it lacks none."""
    if standing is None:
        return None
    if lacking := add_standby.lacking(context, standing):
        return add_standby.add(context, attempt, standing, lacking, dry_run=asked.dry_run)
    if not asked.dry_run:
        add_standby.complete(context, standing)
    return None


def _without_adopting(context: GroupContext, standing: RegisterState | None) -> tuple[StepOutcome, str] | None:
    """Return how an adoption ends that has nothing to do, or may not; ``None`` if the group is to be adopted."""
    name = context.group.name
    if standing is None or standing.phase is Phase.RELEASED:
        if context.group.existing_replication is None:
            return None
        said = f"the topology declares existing_replication of {name}, which is taken over: see the runbook of dr_adopt"
        return "refused", said
    if _is_adoption(standing):
        return None
    said = f"{name} is {standing.phase} on {standing.active} by run {standing.run} (epoch {standing.epoch})"
    if not standing.is_adopted:
        return "refused", f"{said}: {way_out(standing)}"
    return "passed", f"{name} is adopted: {standing.phase} on {standing.active} (epoch {standing.epoch})"


def _with_its_route(
    context: GroupContext, found: RegisterState | None, ended: tuple[StepOutcome, str], *, dry_run: bool
) -> tuple[StepOutcome, str]:
    """Write the route of an adopted group if somebody has removed it: applications would find no cluster."""
    if found is None or found.phase is not Phase.STABLE or context.clients.router(context.group).read() is not None:
        return ended
    said = f"{ended[1]}; it had no route"
    if dry_run:
        return "would_do", f"{said}: a real run writes one to {found.active}"
    return "done", f"{said}, and has one to {write_first_route(context, found)} now"


def wait_until_led(context: GroupContext, cluster: str) -> None:
    """Wait until a leader answers for each partition of the group's topics.

    Right after topics were created, their leaders do not know for a moment that they lead, and other brokers do not
    know the topics.

    :raises NotFound: a topic is missing
    :raises TryAgain: some have no leader that answers
    """
    topics = context.operator(cluster).topics
    try:
        wait_until(
            lambda: topics.log_starts(context.partitions(cluster)),
            lambda _: True,
            clock=context.clock,
            seconds=_LED_SECONDS,
            retry=(StaleMetadata, NotFound),
        )
    except StaleMetadata as error:
        raise TryAgain(
            f"{error}. For {duration(_LED_SECONDS)} no leader answered for some partitions of {context.group.name} on "
            f"{cluster}: bring its brokers up, then run dr_adopt again"
        ) from error


def _intent(context: GroupContext, state: RegisterState, canary: CanaryTopic | None) -> Sequence[str]:
    """Say what an adoption does, with the DENYs that are missing now."""
    here = plan.flow_fence(context.group.on(state.active)) - context.rules_in_force(state.active)
    away = {
        name: lacking(plan.standby(context.group.on(name)), context.rules_in_force(name)) for name in state.standbys
    }
    topics = ", ".join(context.group.clusters)
    return (
        *witness_intent(context),
        *((f"create the canary topic: {canary}",) if canary else ()),
        f"create the register on {topics} where it is missing, and write that {state.active} is active "
        f"(epoch {state.epoch})",
        f"deny WRITE on {state.active} to {context.group.replicator_principal} ({len(here)} DENYs are missing)",
        *(
            f"deny everybody but replication every change of copies on {name}"
            for name in (context.group.clusters if context.declared.renames_copies else ())
        ),
        *(
            f"deny the applications' work and changes on {name} ({len(left)} DENYs are missing)"
            for name, left in away.items()
        ),
        *(
            f"journal where the flow {flow.source} → {flow.target} begins; dr_flows then starts it"
            for flow in _flows(context, state)
        ),
        f"write the route to {state.active} if there is none",
    )


def _is_adoption(state: RegisterState) -> bool:
    """Return whether an adoption may not have ended; whatever changed its record afterwards came after it."""
    return state.verb == "adopt" and state.phase is Phase.STABLE and state.revision == 0


def _complete(context: GroupContext, state: RegisterState) -> Mapping[str, Any]:
    """Write the record, first on the active cluster; fence the standbys; journal the flows' seeds; write the route."""
    for name in (state.active, *state.standbys):
        context.clients.register(name).copy(state)
    group = context.group
    context.acl_changes(state.active, adoption_guard(context, state)).add(
        plan.flow_fence(group.on(state.active)) | plan.apart(group, state.active)
    )
    fences = {name: context.acl_changes(name, adoption_guard(context, state)) for name in state.standbys}
    added = [
        deny
        for name, fence in fences.items()
        for deny in fence.add(plan.apart(group, name), *plan.standby_in_order(group.on(name)))
    ]
    seeds = {flow: _seed_flow(context, state, flow, fences, fact=fact) for flow, fact in _flows(context, state).items()}
    seeded = {"seed": seeds[context.flow_between(state.active, state.standbys[0])]}
    if len(seeds) > 1:
        seeded["seeds"] = {f"{flow.source}-to-{flow.target}": seed for flow, seed in seeds.items()}
    return {"epoch": state.epoch, "denies_added": len(added), **seeded, "route": write_first_route(context, state)}


def _flows(context: GroupContext, state: RegisterState) -> dict[Flow, str]:
    """Return the flows of a group that is being adopted, each with the name of the fact of its seed.

    The seed without a cluster in its name says that the adoption is complete: it is the last one.
    """
    first, *further = (context.flow_between(state.active, name) for name in state.standbys)
    return {
        **{each: fact_of_from_standby(each.source, each.target) for each in _from_standbys(context, state)},
        **{each: fact_of_further(each.target) for each in further},
        first: FLOW_SEED,
    }


def _from_standbys(context: GroupContext, state: RegisterState) -> list[Flow]:
    """Return the flows that run from standbys, too, where copies have names of their own."""
    ends = permutations(context.group.clusters, 2) if context.declared.renames_copies else ()
    return context.own_flows(each for each in ends if each[0] != state.active)


def adoption_guard(context: GroupContext, state: RegisterState) -> RegisterGuard:
    """Return what is asked right before each change: is the record still the one of this adoption?"""
    return context.guard_by(state.active, Unchanged(state))


def _seed_flow(
    context: GroupContext, state: RegisterState, flow: Flow, fences: Mapping[str, AclChanges], *, fact: str
) -> Mapping[str, Any]:
    """Journal where a flow begins: at the start if the topics are empty; a flow that exists keeps its offsets.

    Only after the standby is fenced the answer stays true. If applications began to write to the standby just before,
    all fences are lifted again.

    :param fences: what changes the ACLs of each standby
    :param fact: the name under which the seed is journaled
    :raises Refused: the standby has come into use since it was checked
    """
    seed = context.clients.register(state.active).facts(context.group.name, state.run).get(fact)
    if seed is None:
        first = first_flow(context, flow)
        if first.problem:
            for name, fence in fences.items():
                fence.lift(plan.standby(context.group.on(name)) | plan.apart(context.group, name))
            raise Refused(
                f"A client wrote to {flow.target} before the fence was in place; the fence was removed. {first.problem}"
            )
        seed = FlowSeed(state.epoch, flow.source, flow.target, on_source={}, mode=first.mode).to_json()
    for name in (state.active, *state.standbys):
        context.clients.register(name).write_fact(context.group.name, state.run, fact, seed)
    return dict(seed)


def _proofs(context: GroupContext, state: RegisterState) -> Sequence[Check]:
    clusters = (state.active, *state.standbys)
    records = {name: context.clients.register(name).read(context.group.name) for name in clusters}
    differing = [name for name, found in records.items() if found != state]
    said = f"the registers of {' and '.join(clusters)} hold the adopted record"
    if differing:
        said = (
            f"the register of {', '.join(differing)} holds another record of {context.group.name} than the adopted one "
            f"(epoch {state.epoch}): run dr_adopt again"
        )
    refused = (context.shut(name, plan.standby(context.group.on(name))) for name in state.standbys)
    return (
        Check.that("registers_agree", not differing, said),
        *(check.named("standby_refuses") for check in refused),
        route_agrees(context, state),
    )
