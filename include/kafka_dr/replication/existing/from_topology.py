"""The existing replication of a protection group, reached as the topology declares it."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.errors import Refused
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.existing.confluent_replicator import ConfluentReplicator
from kafka_dr.replication.existing.mirrormaker_connect import MirrorMakerOnConnect
from kafka_dr.replication.existing.mirrormaker_process import MirrorMakerProcess
from kafka_dr.replication.existing.owned_process import OwnedProcess, OwnersCommands
from kafka_dr.replication.existing.port import ExistingReplication, declared
from kafka_dr.replication.existing.strimzi import StrimziMirrorMaker
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowClients


def existing_replication(
    reached: FlowClients, connect_at: Callable[[str], ConnectClient], flow: Flow
) -> ExistingReplication:
    """Return what copies a group's topics now.

    :param connect_at: returns the Connect cluster of a connection id
    :param flow: from the cluster that applications write to, to the one that holds the copy
    :raises Refused: the topology declares none, or one of a kind that cannot be taken over yet
    """
    group = reached.topology.group(flow.group)
    spec, naming = declared(group), group.naming(flow.source, flow.target)
    if spec.replicator == "mirrormaker_connect" and spec.connect is not None:
        target = reached.topology.cluster(flow.target)
        return MirrorMakerOnConnect(
            connect_at(spec.connect),
            spec.connectors,
            owns=group.owns_topic,
            naming=naming,
            worker_group=target.connect_group_id if spec.connect == target.connect else None,
            clock=reached.clock,
        )
    commands = OwnersCommands(spec.stop_command or (), spec.start_command or (), spec.command_seconds)
    if spec.replicator == "mirrormaker" and spec.source_alias is not None and spec.positions_topic is not None:
        return MirrorMakerProcess(
            commands,
            target=reached.cluster(flow.target, "audit"),
            offsets_topic=spec.positions_topic,
            source_alias=spec.source_alias,
            owns=group.owns_topic,
        )
    if spec.replicator == "external":
        return OwnedProcess("external", commands)
    if spec.replicator == "strimzi" and spec.kubernetes and spec.namespace and spec.resource and spec.source_alias:
        return StrimziMirrorMaker(
            reached.kubernetes_at(spec.kubernetes),
            namespace=spec.namespace,
            name=spec.resource,
            source=spec.source_alias,
            owns=group.owns_topic,
            naming=naming,
            clock=reached.clock,
        )
    if spec.replicator == "confluent_replicator" and spec.connect is not None:
        (name,) = spec.connectors
        source = reached.cluster(flow.source, "operator")
        return ConfluentReplicator(
            connect_at(spec.connect),
            name,
            owns=group.owns_topic,
            naming=naming,
            committed=lambda reader: source.groups.offsets([reader], require_stable=False)[reader],
            clock=reached.clock,
        )
    raise Refused(f"{spec.replicator} of {group.name} cannot be taken over yet: see existing_replication")
