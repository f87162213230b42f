"""A protection group with patterns for tests of rules: the lab's own, declared otherwise."""

from __future__ import annotations

from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup
from lab.layout import PROJECT

_ENVIRON = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "localhost:1",
    "KAFKA_DR_LAB_WEST": "localhost:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


def pattern_group(*patterns: str, name: str = "orders", **changes: object) -> ProtectionGroup:
    """Return a group that owns the topic ``payments`` and whatever its patterns match."""
    group = load(PROJECT / "include" / "topology.yaml", _ENVIRON).group("orders")
    own = {"name": name, "topics": ("payments",), "topic_prefixes": (), "topic_patterns": patterns}
    return group.model_copy(update={**own, **changes})
