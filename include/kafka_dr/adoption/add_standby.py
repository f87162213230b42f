"""Add a standby to an adopted group, while its applications work and its other flows run.

No run holds the group for that, so nothing waits if it is interrupted: before the record is written nothing counts, and
after it ``dr_flows`` does the rest. The order is what keeps two processes from opening two clusters, if one of them
knows of the new standby and the other one does not:

1. the standby is fenced, and proven to refuse writes;
2. where its flow begins is journaled;
3. the record that names it is set in the register of the active cluster, which decides, then in those of the other
   standbys, then in its own. It is *pending* there, so nothing is copied to it, and no failover may go to it;
4. ``dr_flows`` starts the flow, and makes it a *copy* only when all others hold that record. From then on a claim that
   knows of it needs most registers, and one that does not know of it meets that record in the register of its target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from kafka_dr.adoption.adoptable import adoptable, first_flow, seeded
from kafka_dr.adoption.fenceable import seen_to_last
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import lacking as lacking_denies
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, Register, RegisterState
from kafka_dr.register.flow_seed import FlowSeed, fact_of_from_standby, fact_of_further
from kafka_dr.register.membership import joined
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepOutcome, shortfall
from kafka_dr.runs.register_guard import Unchanged


def lacking(context: GroupContext, state: RegisterState) -> tuple[str, ...]:
    """Return the declared clusters that the record of an adopted group does not name; none while it is being adopted.

    :param state: the newest record
    """
    if not state.is_adopted or (state.verb == "adopt" and not state.revision and not seeded(context, state)):
        return ()
    return tuple(name for name in context.declared.clusters if state.roles.of(name) is None)


def add(
    context: GroupContext, attempt: Attempt, standing: RegisterState, lacking: Sequence[str], *, dry_run: bool
) -> tuple[StepOutcome, str]:
    """Make the first of these clusters a standby; one is added at a time.

    :param standing: the record that the registers hold
    :raises Refused: the group is not stable, or another run changes it meanwhile
    """
    standby = lacking[0]
    state = joined(standing, standby)
    attempt.checks += (*adoptable(context, standing, added=standby), _registers_hold(context, standing))
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    said = f"{standby} a standby of {standing.group}, next to {' and '.join(standing.standbys)}"
    if dry_run:
        attempt.intent = tuple(_intent(context, standing, standby))
        return "would_do", f"dry run: nothing was changed. A real run would make {said}"
    attempt.checks += (seen_to_last(context, standby, standing),)
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    attempt.facts = {"standby": standby, **_act(context, standing, state, standby, run=attempt.run)}
    attempt.proofs = (
        _registers_hold(context, state),
        context.shut(standby, plan.standby(context.group.on(standby))).named("standby_refuses"),
    )
    more = "; run dr_adopt again for the next one" if len(lacking) > 1 else ""
    done = f"{said[: len(standby)]} is{said[len(standby) :]}: dr_flows starts its flow, and makes it a copy{more}"
    return shortfall(attempt.proofs, failed="failed") or ("done", done)


def _intent(context: GroupContext, standing: RegisterState, standby: str) -> Sequence[str]:
    left = lacking_denies(plan.standby(context.group.on(standby)), context.rules_in_force(standby))
    before, after = len(standing.roles.each), len(standing.roles.each) + 1
    return (
        f"create the register on {standby} if it is missing",
        f"deny the applications' work and changes on {standby} ({len(left)} DENYs are missing)",
        f"journal where the flow {standing.active} → {standby} begins",
        f"write to the registers that {standby} is a standby, pending until dr_flows copies to it",
        f"from then on {after // 2 + 1} of {after} registers have to agree to an unplanned failover"
        + ("; until now that of its target decides alone" if before == 2 else f", not {before // 2 + 1} of {before}"),
    )


def _act(
    context: GroupContext, standing: RegisterState, state: RegisterState, standby: str, *, run: str
) -> Mapping[str, Any]:
    guard = context.guard_by(standing.active, Unchanged(standing))
    apart = {name: plan.apart(context.group, name) for name in (standing.active, *standing.standbys, standby)}
    for name, denies in apart.items():
        context.acl_changes(name, guard).add(denies)
    added = context.acl_changes(standby, guard).add(*plan.standby_in_order(context.group.on(standby)))
    refused = context.shut(standby, plan.standby(context.group.on(standby)))
    if not refused.passes:
        raise Refused(f"{standby} is not proven to refuse writes, and the record is unchanged: {refused.detail}")
    # Only after the fence the answer stays true.
    seeds = {fact: _seed(context, state, flow) for fact, flow in _flows(context, standing, standby).items()}
    guard.require()
    for name, (fact, seed) in product(apart, seeds.items()):
        context.clients.register(name).write_fact(state.group, run, fact, seed)
    set_in_order(context.clients.register, standing, state)
    return {"epoch": state.epoch, "denies_added": len(added), "seed": dict(seeds[fact_of_further(standby)])}


def _flows(context: GroupContext, standing: RegisterState, standby: str) -> dict[str, Flow]:
    """Return the flows to a new standby and from it, by the names of the facts of their seeds.

    Only where copies have names of their own there are others than that from the active cluster.
    """
    first = context.flow_between(standing.active, standby)
    others = [name for name in (standing.active, *standing.standbys) if context.declared.renames_copies]
    ends = [(standby, name) for name in others] + [(name, standby) for name in others if name != standing.active]
    further = {fact_of_from_standby(each.source, each.target): each for each in context.own_flows(ends)}
    return {fact_of_further(standby): first, **further}


def _seed(context: GroupContext, state: RegisterState, flow: Flow) -> Mapping[str, Any]:
    first = first_flow(context, flow)
    if first.problem:
        raise Refused(f"the record is unchanged, and {flow.target} is fenced: {first.problem}")
    # Where copies have names of their own, all other flows keep their seeds, of whatever epoch these are.
    alone = context.declared.renames_copies
    return FlowSeed(state.epoch, flow.source, flow.target, on_source={}, mode=first.mode, alone=alone).to_json()


def set_in_order(register: Callable[[str], Register], standing: RegisterState, state: RegisterState) -> None:
    """Set the record that names one more standby: where it decides, then where others decide, then in its own register.

    :raises Refused: another run has moved the group meanwhile
    """
    register(standing.active).compare_and_set(standing, state)
    added = [name for name in state.standbys if name not in standing.standbys]
    for name in (*standing.standbys, *added):
        if (held := register(name).copy(state)) != state:
            raise Refused(f"the register of {name} holds a record of run {held.run} (epoch {held.epoch}): see that run")


def complete(context: GroupContext, state: RegisterState) -> None:
    """Bring the record to the registers that lack it, as a run that died could not: :func:`add` sets them in order."""
    if state.phase is Phase.STABLE and Role.PENDING in dict(state.roles.each).values():
        for name in state.standbys:
            context.clients.register(name).copy(state)


def _registers_hold(context: GroupContext, state: RegisterState) -> Check:
    """Return whether each register holds the record, with the same clusters; ``dr_flows`` may have changed a role."""

    def holds(held: RegisterState | None) -> bool:
        about = (state.run, state.epoch, state.phase, state.roles.clusters)
        return held is not None and (held.run, held.epoch, held.phase, held.roles.clusters) == about

    names = state.roles.clusters
    without = [name for name in names if not holds(context.clients.register(name).read(state.group))]
    said = f"the registers of {' and '.join(names)} hold the newest record of {state.group}"
    if without:
        said = (
            f"the register of {' and '.join(without)} does not hold the newest record of {state.group} (epoch "
            f"{state.epoch}): dr_health copies it there within a minute; then run dr_adopt again"
        )
    return Check.that("registers_agree", not without, said)
