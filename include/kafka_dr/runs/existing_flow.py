"""The existing replication of a protection group, reached as the topology declares it."""

from __future__ import annotations

from kafka_dr.errors import Refused
from kafka_dr.replication import Flow
from kafka_dr.replication.existing import (
    ConfluentReplicator,
    ExistingReplication,
    MirrorMakerOnConnect,
    MirrorMakerProcess,
    OwnedProcess,
    OwnersCommands,
    StrimziMirrorMaker,
)
from kafka_dr.runs.clients import Clients
from kafka_dr.topology import ExistingReplicationSpec, ProtectionGroup


def declared(group: ProtectionGroup) -> ExistingReplicationSpec:
    """Return what the topology says of a group's existing replication.

    :raises Refused: it says nothing
    """
    if group.existing_replication is None:
        raise Refused(f"the topology declares no existing_replication of {group.name}: there is nothing to take over")
    return group.existing_replication


def existing_replication(clients: Clients, flow: Flow) -> ExistingReplication:
    """Return what copies a group's topics now.

    :param flow: from the cluster that applications write to, to the one that holds the copy
    :raises Refused: the topology declares none, or one of a kind that cannot be taken over yet
    """
    group = clients.topology.group(flow.group)
    spec = declared(group)
    if spec.replicator == "mirrormaker_connect" and spec.connect is not None:
        target = clients.topology.cluster(flow.target)
        return MirrorMakerOnConnect(
            clients.connect_at(spec.connect),
            spec.connectors,
            owns=group.owns_topic,
            worker_group=target.connect_group_id if spec.connect == target.connect else None,
            clock=clients.clock,
        )
    commands = OwnersCommands(spec.stop_command or (), spec.start_command or (), spec.command_seconds)
    if spec.replicator == "mirrormaker" and spec.source_alias is not None and spec.positions_topic is not None:
        return MirrorMakerProcess(
            commands,
            target=clients.cluster(flow.target, "audit"),
            offsets_topic=spec.positions_topic,
            source_alias=spec.source_alias,
            owns=group.owns_topic,
        )
    if spec.replicator == "external":
        return OwnedProcess("external", commands)
    if spec.replicator == "strimzi" and spec.kubernetes and spec.namespace and spec.resource and spec.source_alias:
        return StrimziMirrorMaker(
            clients.kubernetes_at(spec.kubernetes),
            namespace=spec.namespace,
            name=spec.resource,
            source=spec.source_alias,
            owns=group.owns_topic,
            clock=clients.clock,
        )
    if spec.replicator == "confluent_replicator" and spec.connect is not None:
        (name,) = spec.connectors
        source = clients.cluster(flow.source, "operator")
        return ConfluentReplicator(
            clients.connect_at(spec.connect),
            name,
            owns=group.owns_topic,
            committed=lambda reader: source.groups.offsets([reader], require_stable=False)[reader],
            clock=clients.clock,
        )
    raise Refused(f"{spec.replicator} of {group.name} cannot be taken over yet: see existing_replication")
