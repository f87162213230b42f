"""Flows: replication of a protection group from its active cluster to a standby."""

from __future__ import annotations

from kafka_dr.replication.connect import (
    ConnectClient,
    ConnectorNotFound,
    ConnectRefused,
    ConnectUnreachable,
    SourceOffset,
)
from kafka_dr.replication.connector_status import ConnectorStatus, TaskStatus
from kafka_dr.replication.copy_settings import CopySettings, read_copy_settings, read_limits
from kafka_dr.replication.flow import Flow, FlowNotFound
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.replication.moving import Moving, data_ends, flow_moves, flow_moves_in_turns
from kafka_dr.replication.replicator import (
    Ensured,
    FlowClients,
    FlowsByHand,
    FlowSetup,
    FlowState,
    FlowStatus,
    Positions,
    PositionsTopic,
    Replication,
    Replicator,
    WatchedFlow,
    not_running,
)
from kafka_dr.replication.watched_flow import watch_flow

__all__ = [
    "CopySettings",
    "read_copy_settings",
    "read_limits",
    "Flow",
    "FlowState",
    "FlowStatus",
    "Ensured",
    "Positions",
    "PositionsTopic",
    "FlowNotFound",
    "FlowsByHand",
    "FlowSetup",
    "FlowClients",
    "Replication",
    "Replicator",
    "not_running",
    "Mm2Replicator",
    "MirrorMakerFlows",
    "WatchedFlow",
    "watch_flow",
    "Moving",
    "flow_moves",
    "flow_moves_in_turns",
    "data_ends",
    "ConnectClient",
    "ConnectorStatus",
    "TaskStatus",
    "SourceOffset",
    "ConnectUnreachable",
    "ConnectorNotFound",
    "ConnectRefused",
]
