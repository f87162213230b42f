"""The flow that a job is about, and both of its clusters in the role of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

from jobs.connections import Connections
from kafka_dr.clusters import KafkaCluster
from kafka_dr.errors import Refused
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.replication import Flow, WatchedFlow
from kafka_dr.topology import ClusterSpec, Topology


def declared_flow(topology: Topology, name: str) -> Flow:
    """Return the flow of that name.

    :param name: ``GROUP.SOURCE-to-TARGET``; the name of its connector, which begins with ``dr.``, is accepted
    :raises Refused: the topology declares no such flow
    """
    flows = {
        f"{group.name}.{source}-to-{target}": Flow(group.name, source, target)
        for group in topology.protection_groups.values()
        for source, target in permutations(group.clusters, 2)
    }
    known = flows.get(name) or flows.get(name.removeprefix("dr."))
    if known is None:
        raise Refused(f"the topology has no flow {name!r}: choose one of {', '.join(sorted(flows))}")
    return known


def group_named(flow: str) -> str:
    """Return the group that the name of a flow begins with.

    :param flow: see :func:`declared_flow`
    """
    return flow.removeprefix("dr.").rpartition(".")[0]


def audited(name: str, declared: ClusterSpec, connections: Connections) -> KafkaCluster:
    """Return a cluster in the role of the audit, which may see the register's topic and not every topic."""
    return KafkaCluster(name, connections.kafka(declared.connections.audit), known_topic=REGISTER_TOPIC)


@contextmanager
def reached(
    topology: Topology, flow: Flow, connections: Connections
) -> Iterator[tuple[KafkaCluster, KafkaCluster, WatchedFlow]]:
    """Lend both clusters and the flow, all in the role of the audit; a cluster with another id is refused."""
    source_cluster, target_cluster = topology.cluster(flow.source), topology.cluster(flow.target)
    with (
        audited(flow.source, source_cluster, connections) as source,
        audited(flow.target, target_cluster, connections) as target,
    ):
        for cluster, declared in ((source, source_cluster), (target, target_cluster)):
            if (seen := cluster.topics.identity().cluster_id) != declared.cluster_id:
                raise Refused(f"{cluster.name} answers with cluster id {seen}, the topology says {declared.cluster_id}")
        yield source, target, WatchedFlow(flow, target=target, declared=target_cluster)
