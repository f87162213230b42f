"""Flows as audits know them, whoever runs them: those of protection groups in either direction, and observed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

from kafka_dr.errors import Refused
from kafka_dr.naming import Naming
from kafka_dr.topology.group_keys import AuditsSpec, Thresholds
from kafka_dr.topology.model import ProtectionGroup, Topology
from kafka_dr.topology.observed import ObservedCluster, ObservedFlowSpec

#: How many flows a sentence names.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class AuditedEnd:
    """A cluster of a flow, as its audits reach it.

    :param connection: the connection id of a principal that may read
    :param cluster_id: the id that the cluster has to report; ``None``: any
    """

    name: str
    connection: str
    cluster_id: str | None


@dataclass(frozen=True, slots=True)
class AuditedFlow:
    """A flow that audits compare and measure.

    :param subject: the protection group, or the observed flow
    :param topics: the topics that it names one by one
    :param observed: whether somebody else runs it: it has no register, no Connect that could be asked, and nothing may
        be written for it
    :param covers_topic: whether a topic of the source belongs to it
    :param covers_group: whether a consumer group is looked at
    :param naming: what copies are called; ``None``: as their originals
    :param replication_factor: of topics that an audit creates; it creates none for an observed flow
    """

    subject: str
    source: AuditedEnd
    target: AuditedEnd
    observed: bool
    covers_topic: Callable[[str], bool]
    covers_group: Callable[[str], bool]
    thresholds: Thresholds
    audits: AuditsSpec
    topics: tuple[str, ...] = ()
    naming: Naming | None = None
    replication_factor: int = 1

    @property
    def direction(self) -> str:
        """``SOURCE-to-TARGET``."""
        return f"{self.source.name}-to-{self.target.name}"

    @property
    def name(self) -> str:
        """What jobs, forms and reports call it."""
        return f"{self.subject}.{self.direction}"

    @property
    def ends(self) -> tuple[AuditedEnd, AuditedEnd]:
        """Source and target."""
        return self.source, self.target

    def copy_of(self, topic: str) -> str | None:
        """Return what the copy of a topic is called; ``None`` if it is never copied."""
        return topic if self.naming is None else self.naming.copy_of(topic)


def flows_of_group(topology: Topology, group: ProtectionGroup) -> Iterator[AuditedFlow]:
    """Yield the flows that a protection group may have, one for each direction."""
    for source, target in permutations(group.clusters, 2):
        if not group.owns_flows_from(source):
            continue
        yield AuditedFlow(
            group.name,
            _end_of_group(topology, source),
            _end_of_group(topology, target),
            observed=False,
            covers_topic=group.owns_topic,
            covers_group=group.owns_group,
            thresholds=group.thresholds,
            audits=group.audits,
            naming=group.naming(source, target),
            replication_factor=group.flow.replication_factor,
        )


def observed_audits(flow: ObservedFlowSpec) -> AuditedFlow | None:
    """Return an observed flow as audits know it; ``None`` if it is declared without audits."""
    if flow.audits is None:
        return None
    late = flow.late_after_seconds
    return AuditedFlow(
        flow.name,
        _observed_end(flow.source),
        _observed_end(flow.target),
        observed=True,
        covers_topic=flow.covers_topic,
        covers_group=flow.covers_group,
        thresholds=Thresholds(
            max_record_age_seconds=late,
            max_lag_seconds=late,
            max_checkpoint_latency_seconds=late,
            min_retention_headroom_seconds=flow.audits.min_retention_headroom_seconds,
        ),
        audits=AuditsSpec(
            duplicates=flow.audits.duplicates, keep_fingerprints_seconds=flow.audits.keep_fingerprints_seconds
        ),
        topics=flow.topics,
        naming=flow.naming.rule(),
    )


def audited_flows(topology: Topology) -> dict[str, AuditedFlow]:
    """Return every flow that can be audited, by its name."""
    groups = topology.protection_groups.values()
    found = [flow for group in groups for flow in flows_of_group(topology, group)]
    found += [flow for spec in topology.observed_flows.values() if (flow := observed_audits(spec)) is not None]
    return {flow.name: flow for flow in found}


def audited_flow(topology: Topology, name: str) -> AuditedFlow:
    """Return the flow of that name.

    :param name: ``SUBJECT.SOURCE-to-TARGET``; the name of its connector, which begins with ``dr.``, is accepted
    :raises Refused: the topology declares no such flow, or no audits of it
    """
    flows = audited_flows(topology)
    found = flows.get(name) or flows.get(name.removeprefix("dr.")) or flows.get(_of_its_owner(topology, name))
    if found is not None:
        return found
    spec = topology.observed_flows.get(name.rpartition(".")[0])
    if spec is not None and spec.audits is None:
        raise Refused(f"the topology declares no audits of the observed flow {spec.name}: add audits: {{}} to it")
    known = ", ".join(sorted(flows)[:_NAMED]) or "none is declared"
    raise Refused(f"the topology has no flow {name!r}: choose one of {known}")


def _of_its_owner(topology: Topology, name: str) -> str:
    """Return what a flow between two members is called that was asked for by the name of another member's group."""
    group, _, direction = name.partition(".")
    declared = topology.protection_groups.get(group)
    source = direction.partition("-to-")[0]
    if declared is None or source not in declared.clusters:
        return name
    return f"{declared.flow_group(source)}.{direction}"


def clusters_of(topology: Topology, name: str) -> tuple[str, ...]:
    """Return the names of the clusters of a protection group or of an observed flow.

    :raises UnknownName: neither is declared
    """
    flow = topology.observed_flows.get(name)
    return topology.group(name).clusters if flow is None else (flow.source.name, flow.target.name)


def _end_of_group(topology: Topology, name: str) -> AuditedEnd:
    declared = topology.cluster(name)
    return AuditedEnd(name, declared.connections.audit, declared.cluster_id)


def _observed_end(end: ObservedCluster) -> AuditedEnd:
    return AuditedEnd(end.name, end.connection, end.cluster_id)
