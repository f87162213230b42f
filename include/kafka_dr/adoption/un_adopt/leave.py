"""One standby leaves a group that stays adopted: what the steps of a release do then, instead of releasing everything.

The claim is on most registers before anything is changed, those that stay among them. From then on no other run can
take the group by what a register said before, so the record without the standby can follow in one register after the
other. Only after it the standby's fences are lifted. If its cluster is known to be off, nothing is asked there, and it
stays fenced: ``dr_health`` fences it if it returns while a topology still declares it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from kafka_dr import parallel
from kafka_dr.adoption.handing_back import lift_all
from kafka_dr.adoption.un_adopt import hand_back as hand_back_all
from kafka_dr.adoption.un_adopt import settle as settle_all
from kafka_dr.adoption.un_adopt import stop_flow as stop_all
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.checks.cluster_checks import right_clusters
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.fencing import plan
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.membership import left, why_it_stays
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.flows_of_standby import flows_of
from kafka_dr.runs.group_context import PROOF_SECONDS
from kafka_dr.runs.register_guard import AsksFor
from kafka_dr.runs.retention_hold import give_retention_back
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import settled_facts
from kafka_dr.waiting import wait_until

Held = Mapping[str, RegisterState | KafkaDrError | None]


class _Step(Protocol):
    def intent(self, run: Run) -> Sequence[str]: ...

    def act(self, run: Run) -> Mapping[str, Any]: ...

    def prove(self, run: Run) -> Sequence[Check]: ...


def checks(context: ReleaseContext) -> Iterator[Check]:
    """Ask what has to hold before a standby leaves."""
    run, leaving = context.run, context.leaving
    state = run.record()
    why = why_it_stays(state, leaving)
    yield Check.that("standby_can_leave", not why, why or f"{' and '.join(state.roles.without(leaving).copies)} stay")
    if why:
        return
    held = run.each_cluster(lambda cluster: run.clients.register(cluster).read(run.group.name))
    staying = [name for name in state.roles.clusters if name != leaving]
    yield right_clusters(run, [name for name in staying if not isinstance(held.get(name), KafkaDrError)])
    lacks = _lacks_most(state, held, leaving)
    yield Check.that("most_registers_agree", not lacks, lacks or registers_said(state, leaving))
    yield _answers_or_is_off(context, held)
    if not context.is_off:
        yield _holds_nothing_alone(state, leaving)
        yield _flows_can_be_stopped(run)


def _holds_nothing_alone(state: RegisterState, leaving: str) -> Check:
    """Return whether a cluster that answers may hold records that no other one has: nobody would list them any more."""
    role = state.roles.of(leaving)
    alone = role in (Role.UNFENCED, Role.DIVERGED)
    said = (
        f"{leaving} is {role} and may hold records that no other cluster has: make it a copy again with dr_failback, "
        "which keeps a list of them, and then let it leave"
    )
    return Check.that("holds_nothing_alone", not alone, said if alone else f"{leaving} is {role}")


def _flows_can_be_stopped(run: Run) -> Check:
    """Return whether what runs each flow to stop answers: while the run waits for it, no other run may begin."""
    name, flows = "flows_can_be_stopped", tuple(_flows(run))
    found = parallel.ask_each(lambda flow: run.clients.replicator(flow).status(), flows)
    silent = [f"{flow.name} ({each})" for flow, each in found.items() if isinstance(each, KafkaDrError)]
    said = f"what runs {' and '.join(silent)} does not answer, so the flow cannot be stopped: bring it back first"
    return Check.that(name, not silent, said if silent else f"each of {len(flows)} flows can be asked")


def registers_said(state: RegisterState, leaving: str) -> str:
    """Say how many registers have to agree to an unplanned failover before a standby leaves, and after it."""
    before, after = len(state.roles.each), len(state.roles.each) - 1
    then = "that of its target decides alone" if after == 2 else f"{after // 2 + 1} of {after}"
    return f"an unplanned failover needs {before // 2 + 1} of {before} registers now; without {leaving} {then}"


def _lacks_most(state: RegisterState, held: Held, leaving: str) -> str:
    """Return why too few registers hold a record, of the clusters before and of those after it; empty if enough do."""
    about = (state.run, state.epoch, state.phase, state.roles)

    def holds(name: str) -> bool:
        found = held.get(name)
        return isinstance(found, RegisterState) and (found.run, found.epoch, found.phase, found.roles) == about

    clusters = state.roles.clusters
    staying = [name for name in clusters if name != leaving]
    for names, when in ((clusters, "now"), (staying, f"without {leaving}")):
        holding = [name for name in names if holds(name)]
        if 2 * len(holding) <= len(names):
            without = " and ".join(name for name in names if name not in holding)
            return (
                f"only {len(holding)} of the {len(names)} registers that decide {when} hold the newest record of "
                f"{state.group}, and more than half have to: bring those of {without} back, or wait until dr_health "
                "has updated them"
            )
    return ""


def _answers_or_is_off(context: ReleaseContext, held: Held) -> Check:
    name, leaving = "leaving_cluster_answers_or_is_off", context.leaving
    silent = isinstance(held.get(leaving), KafkaDrError)
    if silent and not context.is_off:
        said = (
            f"{leaving} does not answer ({held[leaving]}), so nobody can see that nothing writes there. Bring it back; "
            f"or, if it is off for ever, say so: name {leaving} as known to be off"
        )
        return Check(name, "failed", said)
    if context.is_off and not silent:
        return Check(name, "failed", f"{leaving} answers, so it is not off: leave out that it is known to be off")
    return Check(
        name, "ok", f"{leaving} is known to be off: {context.run.override}" if silent else f"{leaving} answers"
    )


@dataclass(frozen=True, slots=True)
class LeavingOr:
    """A step of a release, which does something else if only one standby leaves.

    :param whole: the step of the release of a whole group
    :param says: what acting means then
    :param does: acts then
    :param proves: proves it then
    """

    whole: _Step
    says: Callable[[ReleaseContext], Sequence[str]]
    does: Callable[[Run], Mapping[str, Any]]
    proves: Callable[[Run], Sequence[Check]]

    def intent(self, run: Run) -> Sequence[str]:
        """Say what acting means."""
        context = ReleaseContext(run)
        return self.says(context) if context.leaving else self.whole.intent(run)

    def act(self, run: Run) -> Mapping[str, Any]:
        """Do what is missing."""
        return (self.does if ReleaseContext(run).leaving else self.whole.act)(run)

    def prove(self, run: Run) -> Sequence[Check]:
        """Ask the clusters whether it worked."""
        return (self.proves if ReleaseContext(run).leaving else self.whole.prove)(run)


def claim(run: Run, before: RegisterState | None, state: RegisterState) -> Mapping[str, Any]:
    """Set the claim where it decides, then in the registers that stay: most have to hold it.

    :raises Refused: too few do
    """
    leaving = ReleaseContext(run).leaving
    run.clients.register(run.source).compare_and_set(before, state)
    _copied(run, state, leaving)
    return {}


def claimed(run: Run) -> Sequence[Check]:
    """Most registers hold the claim."""
    return (_most_hold(run, run.clients.register(run.source).read(run.group.name), ReleaseContext(run).leaving),)


def _copied(run: Run, state: RegisterState, leaving: str) -> None:
    for name in state.roles.clusters:
        if name not in (run.source, leaving):
            with suppress(KafkaDrError):
                run.clients.register(name).copy(state)
    if not (found := _most_hold(run, state, leaving)).passes:
        raise TryAgain(found.detail)
    if not ReleaseContext(run).is_off:
        with suppress(KafkaDrError):
            run.clients.register(leaving).copy(state)


def _most_hold(run: Run, state: RegisterState | None, leaving: str) -> Check:
    name = "most_registers_hold_it"
    if state is None:
        return Check(name, "failed", f"the register of {run.source} has no record")
    staying = [each for each in state.roles.clusters if each != leaving]
    held = parallel.ask_each(lambda each: run.clients.register(each).read(run.group.name), staying)
    lacks = _lacks_most(state, held, leaving)
    return Check.that(name, not lacks, lacks or f"the registers of {' and '.join(staying)} hold it")


def stop(run: Run) -> Mapping[str, Any]:
    """Stop what copies to the standby, and end its transactions there."""
    guard, seconds = run.guard(Phase.RELEASING), run.group.timing.step_deadline_seconds
    flows = _flows(run)
    for flow in flows:
        replicator = run.clients.replicator(flow)
        if not replicator.status().at_rest:
            guard.require()
            replicator.stop()
            replicator.wait_stopped(seconds)
        guard.require()
        run.operator(flow.target).transactions.take_over(replicator.transactional_ids())
    return {"flow": "stopped" if flows else "not asked"}


def stopped(run: Run) -> Sequence[Check]:
    """Nothing copies to the standby."""
    states = {flow.name: run.clients.replicator(flow).status() for flow in _flows(run)}
    if not states:
        return (Check("flow_is_stopped", "excused", f"{ReleaseContext(run).leaving} is known to be off"),)
    rests = all(status.at_rest for status in states.values())
    return (Check.that("flow_is_stopped", rests, "; ".join(f"{name} is {each}" for name, each in states.items())),)


def remove(run: Run) -> Mapping[str, Any]:
    """Remove what copied to the standby; from here on the run can only be finished.

    :raises Refused: it was abandoned
    """
    context, guard = ReleaseContext(run), run.guard(Phase.RELEASING)
    if context.ends_as("handed_back") != "handed_back":
        raise Refused(f"that {context.leaving} leaves {run.group.name} was abandoned: nothing is removed")
    flows = _flows(run)
    for flow in flows:
        if run.clients.replicator(flow).status().state != "absent":
            guard.require()
            run.clients.replicator(flow).remove()
    return {"flow": "removed" if flows else "not asked"}


def settle(run: Run) -> Mapping[str, Any]:
    """Write the record without the standby to the registers that stay, then lift the fences of one that answers."""
    context, state = ReleaseContext(run), run.record()
    leaving, at = context.leaving, run.clock.now()
    if state.phase is Phase.RELEASING:
        state = run.advance(left(state, run=run.request.run, opened=not context.is_off, at=at))
    _copied(run, state, leaving)
    lifted = 0
    if leaving in state.gone:
        has_left = AsksFor(lambda now: leaving in now.gone, f"no fence on {leaving}, which has left")
        guard = run.guard_by(state.active, has_left)
        give_retention_back(run, leaving, state.active, guard)
        lifted = lift_all(run, leaving, guard)
    return {**settled_facts(state), "left": leaving, "denies_lifted": lifted}


def settled(run: Run) -> Sequence[Check]:
    """Most registers name the clusters that stay, and no DENY is left on the one that has left."""
    context, state = ReleaseContext(run), run.clients.register(run.source).read(run.group.name)
    leaving = context.leaving
    found = _most_hold(run, state, leaving)
    if context.is_off or state is None:
        return (found,)
    group = run.group.on(leaving)
    ours = plan.standby(group) | plan.flow_fence(group) | plan.apart(run.group, leaving)
    still = wait_until(
        lambda: ours & run.rules_in_force(leaving), lambda rules: not rules, clock=run.clock, seconds=PROOF_SECONDS
    )
    said = (
        f"{len(still)} DENYs are left on {leaving}" if still else f"none of this project's DENYs is left on {leaving}"
    )
    return (found, Check.that("denies_lifted", not still, said))


def _flows(run: Run) -> Collection[Flow]:
    """Return the flows to the standby, and those from it where copies have names of their own.

    Of one that is off only the latter can be asked: a flow runs where it leads to.
    """
    context, state = ReleaseContext(run), run.record()
    leaving = context.leaving
    found = [flow for flow in flows_of(state, leaving) if flow.target == leaving]
    if run.declared.renames_copies:
        others = [name for name in state.roles.clusters if name != leaving]
        found = run.own_flows([*((name, leaving) for name in others), *((leaving, name) for name in others)])
    return [flow for flow in found if flow.target != leaving or not context.is_off]


def _asks_nothing_or(said: str) -> Callable[[ReleaseContext], Sequence[str]]:
    def says(context: ReleaseContext) -> Sequence[str]:
        leaving = context.leaving
        return (f"ask nothing of {leaving}, which is known to be off" if context.is_off else f"{said} {leaving}",)

    return says


def _settling(context: ReleaseContext) -> Sequence[str]:
    leaving = context.leaving
    said = f"write to the registers that {leaving} is none of the clusters of {context.run.group.name}"
    if context.is_off:
        return (said,)
    return (said, f"give its topics their retention back, and lift every DENY that this project added on {leaving}")


STOP_FLOW = LeavingOr(stop_all, _asks_nothing_or("stop the flow to"), stop, stopped)
HAND_BACK = LeavingOr(hand_back_all, _asks_nothing_or("remove the flow to"), remove, stopped)
SETTLE = LeavingOr(settle_all, _settling, settle, settled)
