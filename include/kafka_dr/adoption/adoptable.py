"""Whether a group can be taken under the register as declared: asked before anything of it is written or shut.

An adoption fences the standby, and nothing but a failover lifts that. So a standby that somebody uses, or a route that
leads there, says that the declaration is wrong, and ends the adoption while it has cost nobody anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kafka_dr.checks.authorizers import authorizers_as_declared
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets import other_topics
from kafka_dr.group_offsets.live_verification import ARRIVAL_SECONDS, still_missing
from kafka_dr.register import RegisterState
from kafka_dr.replication import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check

#: Where a first flow begins: at the start of every partition, or where the connector stands that there is already.
SeedMode = Literal["start", "continue"]


@dataclass(frozen=True, slots=True)
class FirstFlow:
    """How replication of a group that is being adopted can begin.

    :param problem: why it cannot; empty where it can
    """

    mode: SeedMode
    problem: str = ""


def adoptable(context: GroupContext, state: RegisterState) -> Sequence[Check]:
    """Ask whether ACLs can shut a side at all, whether that one is free, and whether applications go to the other one.

    :param state: the record that the adoption is going to write, or wrote before it was interrupted
    """
    believed = authorizers_as_declared(context, (state.active, state.standby))
    return (
        believed,
        *_standby_is_free(context, state),
        route_agrees(context, state),
        _reads_only_owned_topics(context, state),
    )


def seeded(context: GroupContext, state: RegisterState) -> bool:
    """Whether this adoption has journaled where its flow begins, which it does behind the fence of the standby."""
    return "flow_seed" in context.clients.register(state.active).facts(context.group.name, state.run)


def first_flow(context: GroupContext, state: RegisterState) -> FirstFlow:
    """Look at the connector and at the standby's logs: whatever lies there has to have come by that connector."""
    flow = Flow(context.group.name, state.active, state.standby)
    config = context.clients.connect(state.standby).config(flow.connector)
    if config is None:
        return FirstFlow(
            "start", _unexplained(_holding_records(context, state.standby), flow, "there is no such connector")
        )
    if config.get("exactly.once.support") != "required":
        problem = (
            f"the connector {flow.connector} exists and is not exactly-once: what it copied twice or left out cannot "
            f"be told; delete it and empty the topics on {state.standby} before adopting the group"
        )
        return FirstFlow("continue", problem)
    return FirstFlow(
        "continue", _unexplained(_not_brought(context, flow), flow, "that connector has no position there")
    )


def _not_brought(context: GroupContext, flow: Flow) -> list[TopicPartition]:
    """Return the partitions that hold something on the standby of which the flow knows nothing.

    The flow is asked after the standby, and again for a moment: it may copy the first record of a partition just now.
    """
    replicator = context.clients.replicator(flow)

    def unexplained() -> list[TopicPartition]:
        holding, copied = _holding_records(context, flow.target), replicator.positions()
        return [partition for partition in holding if partition not in copied]

    return still_missing(unexplained, clock=context.clock, seconds=ARRIVAL_SECONDS)


def _standby_is_free(context: GroupContext, state: RegisterState) -> tuple[Check, ...]:
    if seeded(context, state):
        return (Check("standby_is_free", "ok", f"{state.standby} is fenced by this adoption, and its flow is seeded"),)
    first = first_flow(context, state)
    how = "start at the beginning" if first.mode == "start" else "go on where its connector stands"
    said = f"nothing lies on {state.standby} that the flow did not bring: it can {how}"
    return (
        Check.that("standby_holds_nothing_of_its_own", not first.problem, first.problem or said),
        _no_members(context, state.standby),
        _flow_back_is_still(context, state),
    )


def _unexplained(partitions: Sequence[TopicPartition], flow: Flow, why: str) -> str:
    if not partitions:
        return ""
    more = f" and {len(partitions) - 3} more" if len(partitions) > 3 else ""
    shown = ", ".join(map(str, partitions[:3])) + more
    return (
        f"{shown} on {flow.target} hold records that {flow.connector} did not bring ({why}). If applications write on "
        f"{flow.target}, initial_active is wrong: correct the topology. Otherwise empty or delete these topics there, "
        "or set up that connector with the positions it has, before adopting the group"
    )


def _holding_records(context: GroupContext, cluster: str) -> list[TopicPartition]:
    topics, partitions = context.operator(cluster).topics, context.partitions(cluster)
    starts, ends = topics.log_starts(partitions), topics.high_watermarks(partitions)
    return [partition for partition in partitions if ends[partition] > starts[partition]]


def _reads_only_owned_topics(context: GroupContext, state: RegisterState) -> Check:
    """An adoption moves no position, so what would refuse a switch later is shown, and keeps nobody from protection."""
    try:
        check = other_topics.judged(context, other_topics.look(context, state.active), cluster=state.active)
    except KafkaDrError as error:
        check = Check(other_topics.NAME, "unknown", f"what the groups read elsewhere could not be asked: {error}")
    if check.passes:
        return check
    return replace(check, outcome="excused", detail=f"a switch will be refused for it: {check.detail}")


def _no_members(context: GroupContext, standby: str) -> Check:
    states = context.operator(standby).groups.states(context.consumer_groups(standby)).values()
    reading = sorted(state.group for state in states if state.members)
    detail = f"no consumer group has members on {standby}"
    if reading:
        detail = (
            f"{', '.join(reading[:3])} reads on {standby}, which the adoption would stop: correct initial_active, or "
            "end these consumers first"
        )
    return Check.that("nobody_reads_on_standby", not reading, detail)


def _flow_back_is_still(context: GroupContext, state: RegisterState) -> Check:
    back = Flow(context.group.name, state.standby, state.active)
    found = context.clients.replicator(back).status()
    detail = f"{back.connector} is {found.state}"
    if not found.at_rest:
        detail += (
            f": it brings to {state.active} what is written on {state.standby}. Correct initial_active, or stop it "
            "before adopting the group"
        )
    return Check.that("flow_back_is_still", found.at_rest, detail)


def route_agrees(context: GroupContext, state: RegisterState) -> Check:
    """A route that leads elsewhere names the side that applications use; one that is ahead could not be switched."""
    name, route = "route_agrees", context.clients.router(context.group).read()
    if route is None:
        return Check(name, "ok", f"there is no route yet: one to {state.active} is going to be written")
    said = f"the route of {route.group} leads to {route.active} (epoch {route.epoch})"
    mend = "remove the file if nobody goes by it, and run the adoption again"
    if route.group != context.group.name:
        return Check(name, "failed", f"{said}, and {context.group.name} needs a route of its own: give it another path")
    if route.active != state.active:
        detail = f"{said}, and {state.active} would be active: correct initial_active, or {mend}"
        return Check(name, "failed", detail)
    if route.epoch > state.epoch:
        detail = f"{said}, ahead of the register's epoch {state.epoch}: no failover could switch it; {mend}"
        return Check(name, "failed", detail)
    return Check(name, "ok", said)
