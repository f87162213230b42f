"""The flow that a job is about, and both of its clusters, reached by a principal that may only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from jobs.connections import JobConnections
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.renamed import FlowCluster, seen_as
from kafka_dr.errors import Refused
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import WatchedFlow
from kafka_dr.replication.watched_flow import watch_flow
from kafka_dr.topology.audited import AuditedEnd, AuditedFlow
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.model import Topology


@dataclass(frozen=True, slots=True)
class ReachedFlow:
    """A flow whose clusters can be asked. The topics of both have the names that they have on the source.

    :param watched: what its target stores of it; ``None`` if somebody else runs it
    """

    declared: AuditedFlow
    source: KafkaCluster
    target: FlowCluster
    watched: WatchedFlow | None


def flow_of(declared: AuditedFlow) -> Flow:
    """Return the flow under the names by which its results are kept."""
    return Flow(declared.subject, declared.source.name, declared.target.name)


def group_named(flow: str) -> str:
    """Return the group or observed flow that the name of a flow begins with.

    :param flow: see :func:`kafka_dr.topology.audited_flow`
    """
    return flow.removeprefix("dr.").rpartition(".")[0]


def audited(name: str, declared: ClusterSpec, connections: JobConnections) -> KafkaCluster:
    """Return a cluster in the role of the audit, which may see the register's topic and not every topic."""
    return KafkaCluster(name, connections.kafka(declared.connections.audit), known_topic=REGISTER_TOPIC)


def recognised(topology: Topology, name: str, connections: JobConnections) -> KafkaCluster:
    """Return a cluster of the topology in the role of the audit; who uses it closes it.

    :raises Refused: another cluster answers
    :raises KafkaDrError: it does not answer
    """
    declared = topology.cluster(name)
    cluster = audited(name, declared, connections)
    if (seen := cluster.topics.identity().cluster_id) != declared.cluster_id:
        cluster.close()
        raise Refused(f"{name} answers with cluster id {seen}, the topology says {declared.cluster_id}")
    return cluster


@contextmanager
def reached(topology: Topology, flow: AuditedFlow, connections: JobConnections) -> Iterator[ReachedFlow]:
    """Lend both clusters and what is known of the flow; a cluster with another id is refused."""
    with (
        KafkaCluster(flow.source.name, connections.kafka(flow.source.connection), known_topic=REGISTER_TOPIC) as source,
        KafkaCluster(flow.target.name, connections.kafka(flow.target.connection), known_topic=REGISTER_TOPIC) as target,
    ):
        if flow.observed:
            yield _observed(flow, source, target)
            return
        for cluster, end in ((source, flow.source), (target, flow.target)):
            _recognise(cluster.topics.identity().cluster_id, end)
        watched = watch_flow(flow_of(flow), target=target, declared=topology.cluster(flow.target.name))
        yield ReachedFlow(flow, source, seen_as(target, flow.naming), watched)


def _observed(flow: AuditedFlow, source: KafkaCluster, target: KafkaCluster) -> ReachedFlow:
    """Return an observed flow, whose principals may see no topic of this project or of Kafka's own."""
    seen = []
    for cluster, end in ((source, flow.source), (target, flow.target)):
        found = cluster.configs.overview()
        _recognise(found.cluster_id, end)
        seen.append(found.cluster_id)
        if found.topics:
            cluster.connect_by(min(found.topics))
    if seen[0] == seen[1]:
        raise Refused(
            f"{source.name} and {target.name} are the same cluster, {seen[0]}: a copy is never compared with itself; "
            "correct a connection"
        )
    return ReachedFlow(flow, source, seen_as(target, flow.naming), None)


def _recognise(seen: str, end: AuditedEnd) -> None:
    if end.cluster_id not in (None, seen):
        raise Refused(f"{end.name} answers with cluster id {seen}, the topology says {end.cluster_id}")
