"""What a difference in a configuration key means: four classes, and a fifth for keys that nobody has classed.

The tables name every topic configuration of Kafka 3.9 to 4.4. A key that they do not name is a finding: a new version
of Kafka, or another maker's, brings behaviour along that somebody has to look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kafka_dr.topology.group_keys import ConfigSyncSpec

PARTITIONS = "partitions"
REPLICATION_FACTOR = "replication.factor"


class KeyClass(StrEnum):
    """What a difference means."""

    MUST_MATCH = "must match"
    AT_LEAST = "at least"
    MAY_DIFFER = "may differ"
    SITE_SPECIFIC = "site-specific"
    UNKNOWN = "in no class"


_MUST_MATCH = (
    PARTITIONS,
    "cleanup.policy",
    "delete.retention.ms",
    "errors.deadletterqueue.group.enable",
    "max.compaction.lag.ms",
    "max.decompressed.message.bytes",
    "max.message.bytes",
    "message.downconversion.enable",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "unclean.leader.election.enable",
)
_AT_LEAST = (REPLICATION_FACTOR, "min.insync.replicas", "retention.bytes", "retention.ms")
_MAY_DIFFER = (
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    # Brokers since 3.0 ignore it.
    "message.format.version",
    "preallocate",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
)
_SITE_SPECIFIC = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "confluent.placement.constraints",
    # Whether and where old segments are tiered away is a matter of each datacenter's storage.
    "local.retention.bytes",
    "local.retention.ms",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
)
_DEFAULTS: Mapping[str, KeyClass] = {
    **dict.fromkeys(_MUST_MATCH, KeyClass.MUST_MATCH),
    **dict.fromkeys(_AT_LEAST, KeyClass.AT_LEAST),
    **dict.fromkeys(_MAY_DIFFER, KeyClass.MAY_DIFFER),
    **dict.fromkeys(_SITE_SPECIFIC, KeyClass.SITE_SPECIFIC),
}

#: Where -1 means without end.
_ENDLESS = frozenset({"retention.ms", "retention.bytes"})
#: Where a negative value means: as the whole topic does. Alone it says nothing.
_AS_THE_TOPIC = frozenset({"local.retention.ms", "local.retention.bytes"})


@dataclass(frozen=True, slots=True)
class Policy:
    """The classes as a protection group wants them.

    :param classes: by key
    """

    classes: Mapping[str, KeyClass] = field(default_factory=lambda: _DEFAULTS)

    @classmethod
    def of(cls, spec: ConfigSyncSpec) -> Policy:
        """Return the defaults with the topology's keys moved to where it wants them."""
        return cls(
            {
                **_DEFAULTS,
                **dict.fromkeys(spec.must_match, KeyClass.MUST_MATCH),
                **dict.fromkeys(spec.at_least, KeyClass.AT_LEAST),
                **dict.fromkeys(spec.may_differ, KeyClass.MAY_DIFFER),
                **dict.fromkeys(spec.site_specific, KeyClass.SITE_SPECIFIC),
            }
        )

    def class_of(self, key: str) -> KeyClass:
        """Return what a difference in this key means."""
        return self.classes.get(key, KeyClass.UNKNOWN)


def rank(key: str, value: str | None) -> float | None:
    """Return how much a value is worth, for keys of which more is safer; ``None`` where that cannot be said."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    if number < 0 and key in _AS_THE_TOPIC:
        return None
    return float("inf") if number < 0 and key in _ENDLESS else number
