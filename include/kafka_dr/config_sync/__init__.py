"""The standby is configured to take over: what differs, what that means, and what fixes it."""

from __future__ import annotations

from kafka_dr.config_sync.gate import StandbyReadiness
from kafka_dr.config_sync.items import Item, ItemKind, ItemVerdict
from kafka_dr.config_sync.plan import Plan, make_plan
from kafka_dr.config_sync.policy import KeyClass, Policy
from kafka_dr.config_sync.reading import ComparedCluster, read_clusters
from kafka_dr.config_sync.simulation import Access
from kafka_dr.config_sync.snapshot import Snapshot, TopicConfig

__all__ = [
    "Access",
    "StandbyReadiness",
    "Item",
    "ItemKind",
    "KeyClass",
    "Plan",
    "Policy",
    "ComparedCluster",
    "Snapshot",
    "TopicConfig",
    "ItemVerdict",
    "make_plan",
    "read_clusters",
]
