"""MirrorMaker 2, which runs the flows of the lab: what only it has, for tests that look at it or break it."""

from __future__ import annotations

from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.runs.clients import Clients


def connect(clients: Clients, cluster: str) -> ConnectClient:
    """Return the Connect cluster that writes to a cluster."""
    return MirrorMakerFlows(clients).connect(cluster)


def connector(clients: Clients, flow: Flow) -> Mm2Replicator:
    """Return the connector of a flow."""
    return MirrorMakerFlows(clients).replicator(flow, clients.group(flow.group))
