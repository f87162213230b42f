"""The flows of an installation, each one a connector of MirrorMaker 2 on the Connect cluster of its target."""

from __future__ import annotations

from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.by_hand import ConnectByHand
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.copy_settings import read_copy_settings
from kafka_dr.replication.existing.from_topology import existing_replication
from kafka_dr.replication.existing.port import ExistingReplication
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.replication.replicator import FlowClients
from kafka_dr.topology.model import ProtectionGroup


class MirrorMakerFlows:
    """What is known of flows, and what changes them, is asked of Connect's REST API.

    :param reached: what clusters and Connect clusters are reached by
    """

    def __init__(self, reached: FlowClients) -> None:
        self._reached = reached

    def connect(self, cluster: str) -> ConnectClient:
        """Return the Connect cluster that writes to a cluster."""
        return self._connect_at(self._reached.topology.cluster(cluster).connect)

    def replicator(self, flow: Flow, group: ProtectionGroup) -> Mm2Replicator:
        """Return the connector of a flow."""
        reached = self._reached
        return Mm2Replicator(
            flow,
            group=group,
            source=reached.topology.cluster(flow.source),
            target=reached.topology.cluster(flow.target),
            connect=lambda: self.connect(flow.target),
            copies=lambda found: read_copy_settings(reached.cluster(flow.source, "operator"), group.owns_topic, found),
            written=lambda: reached.cluster(flow.target, "operator"),
            evidence_root=reached.evidence_root,
            clock=reached.clock,
        )

    def flows_into(self, cluster: str) -> tuple[str, ...]:
        """Return the names of all connectors of a Connect cluster."""
        return self.connect(cluster).connectors()

    def by_hand(self, cluster: str) -> ConnectByHand:
        """Return the requests to a Connect cluster."""
        return ConnectByHand(cluster, self._reached.endpoint(self._reached.topology.cluster(cluster).connect))

    def existing(self, flow: Flow) -> ExistingReplication:
        """Return what somebody else has set up, as the topology declares it."""
        return existing_replication(self._reached, self._connect_at, flow)

    def _connect_at(self, connection: str) -> ConnectClient:
        return self._reached.service(connection, self._client)

    def _client(self, endpoint: HttpEndpoint) -> ConnectClient:
        return ConnectClient(endpoint, clock=self._reached.clock)
