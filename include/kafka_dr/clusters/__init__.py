"""The only access to a Kafka cluster: this room alone imports Kafka client libraries."""

from __future__ import annotations

from kafka_dr.clusters.cluster import KafkaCluster
from kafka_dr.clusters.errors import (
    ClusterError,
    ClusterUnreachable,
    GroupNotEmpty,
    NotAuthorized,
    NotFound,
    WriterFenced,
)
from kafka_dr.clusters.model import (
    Acl,
    AclOperation,
    AclPermission,
    ClusterIdentity,
    GroupState,
    OpenTransaction,
    PatternType,
    Record,
    ResourceType,
    Topic,
    WriteAnswer,
    WriteVerdict,
)
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.positions import OffsetRange, TopicPartition

__all__ = [
    "KafkaCluster",
    "ClientSettings",
    "Acl",
    "AclOperation",
    "AclPermission",
    "ClusterIdentity",
    "GroupState",
    "OffsetRange",
    "OpenTransaction",
    "PatternType",
    "Record",
    "ResourceType",
    "Topic",
    "TopicPartition",
    "WriteAnswer",
    "WriteVerdict",
    "ClusterError",
    "ClusterUnreachable",
    "GroupNotEmpty",
    "NotAuthorized",
    "NotFound",
    "WriterFenced",
]
