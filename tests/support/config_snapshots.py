"""Snapshots for a config comparison, built from what matters to a test."""

from __future__ import annotations

from typing import Any

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.configuration import ConfigValue, Origin, ScramUser, TopicLayout
from kafka_dr.config_sync.snapshot import Snapshot, TopicConfig

APP, OTHER_APP, STRANGER = "User:orders-app", "User:billing-app", "User:analyst"

DEFAULTS = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "segment.ms": "604800000",
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "follower.replication.throttled.replicas": "",
}


def topic(
    name: str = "orders.payments", partitions: int = 6, copies: int = 3, **changed: str | ConfigValue
) -> TopicConfig:
    configs = {key: ConfigValue(value, Origin.DEFAULT) for key, value in DEFAULTS.items()}
    for key, value in changed.items():
        set_here = value if isinstance(value, ConfigValue) else ConfigValue(value, Origin.TOPIC)
        configs[key.replace("_", ".")] = set_here
    return TopicConfig(TopicLayout(name, partitions, copies), configs)


def acl(
    principal: str = APP,
    operation: AclOperation = AclOperation.WRITE,
    name: str = "orders.",
    *,
    resource: ResourceType = ResourceType.TOPIC,
    pattern: PatternType = PatternType.PREFIXED,
    permission: AclPermission = AclPermission.ALLOW,
) -> Acl:
    return Acl(resource, name, pattern, principal, operation, permission)


def side(cluster: str, *topics: TopicConfig, **fields: Any) -> Snapshot:
    inherited = {key: ConfigValue(value, Origin.DEFAULT) for key, value in DEFAULTS.items()}
    alike = {"inherited": inherited, "brokers": 3, "users": frozenset({ScramUser("orders-app", "SCRAM-SHA-512")})}
    return Snapshot(cluster, f"{cluster}-id", topics={each.name: each for each in topics}, **{**alike, **fields})
