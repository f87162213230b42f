"""Whether a group can be adopted as it is declared: checked before anything is written or fenced.

An adoption fences each standby, and only a failover or a release lifts that fence. So if applications use a standby,
or the route names one, the declaration is wrong. The adoption then ends before it has changed anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafka_dr.adoption.fenceable import denies_can_be_added, fences_can_be_proven
from kafka_dr.checks.authorizers import authorizers_as_declared
from kafka_dr.checks.pattern_topics import topics_of_patterns
from kafka_dr.checks.register_checks import register_topic, register_writers
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets import other_topics
from kafka_dr.group_offsets.live_verification import ARRIVAL_SECONDS, still_missing
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import FLOW_SEED, SeedMode
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few


@dataclass(frozen=True, slots=True)
class FirstFlow:
    """How replication of a group that is being adopted can begin.

    :param mode: where it begins
    :param problem: why it cannot begin; empty if it can
    """

    mode: SeedMode
    problem: str = ""


def adoptable(context: GroupContext, state: RegisterState, *, added: str = "") -> Sequence[Check]:
    """Check that ACLs can fence the clusters, that nobody uses a standby, and that the route names the active one.

    :param state: the record that the adoption is going to write, or wrote before it was interrupted
    :param added: the standby that is added to this adopted group; empty: the group is adopted, with all that it names
    """
    standbys = (added,) if added else state.standbys
    clusters = (state.active, *standbys)
    begun = not added and seeded(context, state)
    return (
        authorizers_as_declared(context, clusters),
        denies_can_be_added(context, clusters),
        fences_can_be_proven(context, clusters),
        register_writers(context, clusters),
        register_topic(context, clusters, is_needed=False),
        *(check for standby in standbys for check in _standby_is_free(context, state, standby, begun=begun)),
        route_agrees(context, state),
        reads_only_owned_topics(context, state),
        *topics_of_patterns(context, clusters),
    )


def seeded(context: GroupContext, state: RegisterState) -> bool:
    """Return whether this adoption has journaled its flows' seeds, which it does after it fenced the standbys."""
    return FLOW_SEED in context.clients.register(state.active).facts(context.group.name, state.run)


def first_flow(context: GroupContext, flow: Flow) -> FirstFlow:
    """Look at the flow and the logs that it writes to: every record there has to be a copy made by that flow."""
    replicator = context.clients.replicator(flow)
    setup = replicator.setup()
    if setup is None:
        return FirstFlow("start", _unexplained(holding_records(context, flow), flow, "there is no such flow"))
    if setup.names_otherwise:
        problem = (
            f"{replicator.described} exists and gives its copies other names than the topology says, so what it has "
            "copied would not be copied again under the new ones: delete it, then run dr_adopt again"
        )
        return FirstFlow("continue", problem)
    if not setup.exactly_once:
        problem = (
            f"{replicator.described} exists and is not exactly-once, so it may have copied records twice or left some "
            f"out. Delete it and empty the topics on {flow.target}, then run dr_adopt again"
        )
        return FirstFlow("continue", problem)
    return FirstFlow("continue", _unexplained(_not_copied(context, flow), flow, "that flow has no offset in them"))


def _not_copied(context: GroupContext, flow: Flow) -> list[TopicPartition]:
    """Return the partitions that hold records on the standby and in which the flow has no offset.

    The flow is asked after the standby, and again for a moment: it may be copying the first record of a partition now.
    """
    replicator = context.clients.replicator(flow)

    def unexplained() -> list[TopicPartition]:
        holding, copied = holding_records(context, flow), replicator.positions()
        return [partition for partition in holding if partition not in copied]

    return still_missing(unexplained, clock=context.clock, seconds=ARRIVAL_SECONDS)


def _standby_is_free(context: GroupContext, state: RegisterState, standby: str, *, begun: bool) -> tuple[Check, ...]:
    if begun:
        return (
            Check(
                "standby_is_free",
                "ok",
                f"{standby} is fenced by this adoption, and the seed of its flow is journaled",
            ),
        )
    flow = context.flow_between(state.active, standby)
    first = first_flow(context, flow)
    how = "start at the beginning" if first.mode == "start" else "continue at the offsets that it has"
    said = f"{standby} holds no records that the flow did not copy: the flow can {how}"
    return (
        Check.that("standby_holds_nothing_of_its_own", not first.problem, first.problem or said),
        no_members(context, standby),
        *_nothing_comes_from(context, state, standby),
    )


def _nothing_comes_from(context: GroupContext, state: RegisterState, standby: str) -> tuple[Check, ...]:
    """Return whether nothing was copied from a standby that a flow of it would copy again, or may not copy."""
    if not context.declared.renames_copies:
        return (flow_back_is_still(context, state, standby),)
    flows = context.own_flows((standby, name) for name in context.group.clusters if name != standby)
    problems = {flow: first_flow(context, flow).problem for flow in flows}
    return tuple(
        Check.that("copies_explained", not said, said or f"{flow.target} holds no copy that {flow.name} did not make")
        for flow, said in problems.items()
    )


def old_copies(context: GroupContext, state: RegisterState, standing: RegisterState | None) -> tuple[Check, ...]:
    """Return whether a standby holds what was copied to it under the names of the originals, before a release.

    With other names these copies would count as what its own applications have written: they would be copied back, and
    consumer groups would read them a second time.

    :param state: the record that the adoption is going to write
    :param standing: the record that is there
    """
    named = context.group.copies_named
    if standing is None or standing.is_adopted or not named or standing.copies_named == named:
        return ()
    held = {}
    for standby in state.standbys:
        topics, partitions = context.operator(standby).topics, context.partitions(standby)
        starts, ends = topics.log_starts(partitions), topics.high_watermarks(partitions)
        held[standby] = sorted({p.topic for p in partitions if ends[p] > starts[p]})
    wrong = "; ".join(
        f"{', '.join(first_few(names, 3))} on {standby} hold records that were copied there under the names of their "
        f"originals, and would be copied back to {state.active}: delete these "
        f"topics on {standby} and create them again, empty, then run dr_adopt again. If applications of {standby} "
        "have written them all, give the group another name"
        for standby, names in held.items()
        if names
    )
    said = f"{' and '.join(held)} {'holds' if len(held) == 1 else 'hold'} no copies with the names of their originals"
    return (Check.that("old_copies_are_gone", not wrong, wrong or said),)


def _unexplained(partitions: Sequence[TopicPartition], flow: Flow, why: str) -> str:
    if not partitions:
        return ""
    more = f" and {len(partitions) - 3} more" if len(partitions) > 3 else ""
    shown = ", ".join(map(str, partitions[:3])) + more
    return (
        f"{shown} on {flow.target} hold records that {flow.name} did not copy ({why}). If applications write to "
        f"{flow.target}, initial_active is wrong: correct the topology. Otherwise empty or delete these topics on "
        f"{flow.target}, or create that flow with the right offsets. Then run dr_adopt again"
    )


def holding_records(context: GroupContext, flow: Flow) -> list[TopicPartition]:
    """Return the partitions of which the target of a flow holds records, by the names of their originals."""
    topics = context.copies_by(flow).topics
    partitions = topics.partitions(context.group.owns_topic)
    starts, ends = topics.log_starts(partitions), topics.high_watermarks(partitions)
    return [partition for partition in partitions if ends[partition] > starts[partition]]


def reads_only_owned_topics(context: GroupContext, state: RegisterState) -> Check:
    """Return what would refuse a later failover. An adoption moves no offset, so it is shown and refuses nothing."""
    try:
        check = other_topics.judged(context, other_topics.look(context, state.active), cluster=state.active)
    except KafkaDrError as error:
        check = Check(
            other_topics.NAME, "unknown", f"it is unknown what the groups read outside {context.group.name}: {error}"
        )
    if check.passes:
        return check
    return replace(check, outcome="excused", detail=f"a later failover will be refused: {check.detail}")


def no_members(context: GroupContext, standby: str) -> Check:
    """Return whether nobody reads on the standby: its fence would stop such consumers."""
    states = context.operator(standby).groups.states(context.consumer_groups(standby)).values()
    reading = sorted(state.group for state in states if state.members)
    detail = f"no consumer group has members on {standby}"
    if reading:
        detail = (
            f"the groups {', '.join(reading[:3])} have members on {standby}, and the adoption would stop them: correct "
            "initial_active, or stop these consumers, then run dr_adopt again"
        )
    return Check.that("nobody_reads_on_standby", not reading, detail)


def flow_back_is_still(context: GroupContext, state: RegisterState, standby: str) -> Check:
    """Return whether no flow of this project copies from a standby to the active cluster."""
    back = Flow(context.group.name, standby, state.active)
    found = context.clients.replicator(back).status()
    detail = f"{back.name} is {found}"
    if not found.at_rest:
        detail += (
            f", expected stopped: it copies records from {standby} to {state.active}. Correct initial_active, or "
            "stop that flow, then run dr_adopt again"
        )
    return Check.that("flow_back_is_still", found.at_rest, detail)


def route_agrees(context: GroupContext, state: RegisterState) -> Check:
    """Return whether the route names the active cluster, with an epoch that a failover can raise."""
    name, route = "route_agrees", context.clients.router(context.group).read()
    if route is None:
        return Check(name, "ok", f"there is no route yet: the adoption writes one that names {state.active}")
    said = f"the route of {route.group} names {route.active} (epoch {route.epoch})"
    fix = "remove the route if no application uses it, and run dr_adopt again"
    if route.group != context.group.name:
        return Check(
            name,
            "failed",
            f"{said}, expected a route of {context.group.name}: give that group a route of its own in the topology",
        )
    if route.active != state.active:
        detail = f"{said}, expected {state.active}, the initial_active: correct initial_active, or {fix}"
        return Check(name, "failed", detail)
    if route.epoch > state.epoch:
        detail = f"{said}, expected at most the register's epoch {state.epoch}, as no failover could switch it: {fix}"
        return Check(name, "failed", detail)
    return Check(name, "ok", said)
