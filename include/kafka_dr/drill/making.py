"""Make what a drill works on: rights, topics on both clusters, the first record, the standby's fence, the flow."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr import parallel
from kafka_dr.adoption.adopt import adopt, wait_until_led
from kafka_dr.counted import counted
from kafka_dr.drill.rights import given
from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.drill_group import Drill
from kafka_dr.waiting import wait_until
from kafka_dr.watch.reconcile_flows import reconcile_flows

#: How long the flow may take to copy its first records, in seconds.
_FLOW_SECONDS = 90.0


def make(drill: Drill, clients: Clients, say: Callable[[str], None]) -> None:
    """Make everything. What a drill that died had made is completed.

    :param clients: of the drill
    :raises KafkaDrError: something could not be made; the teardown removes what was
    """
    context = GroupContext(drill.name, clients)
    for cluster in drill.clusters:
        # Before the first change: whatever answers at an address may be another cluster.
        clients.require_declared(cluster)
    parallel.ask_all(lambda cluster: _make_on(context, drill, cluster), drill.clusters)
    many = counted(len(drill.topics), "topic")
    say(f"made {many} and the rights on {drill.prefix}* on {drill.active} and {drill.standby}")
    for cluster in drill.clusters:
        wait_until_led(context, cluster)
    say(adopt(drill.name, clients, f"{drill.id}-adopt").detail)
    say(wait_until_flowing(drill, clients).summary)


def _make_on(context: GroupContext, drill: Drill, cluster: str) -> None:
    operator = context.operator(cluster)
    operator.acls.add(given(context.group, cluster))
    replicas = min(context.group.flow.replication_factor, len(operator.topics.identity().brokers))
    for topic in drill.topics:
        operator.topics.create(topic, partitions=drill.spec.partitions, replication_factor=replicas, config={})
    operator.topics.create(context.group.canary_topic, partitions=1, replication_factor=replicas, config={})


def wait_until_flowing(drill: Drill, clients: Clients) -> WatchResult:
    """Start the flow that the register asks for, and wait until it works.

    :raises TryAgain: it does not
    """
    found = wait_until(
        lambda: reconcile_flows(drill.name, clients),
        lambda result: result.outcome == "ok",
        clock=clients.clock,
        seconds=_FLOW_SECONDS,
        retry=TryAgain,
    )
    if found.outcome != "ok":
        raise TryAgain(f"the drill's flow does not work after {duration(_FLOW_SECONDS)}: {found.summary}")
    return found
