"""Where a stranded record may be published, so that no older record replaces a newer one.

If applications have written a record with the same key on the active cluster since the failover, the stranded record
would replace it for every reader that keeps the last value of a key. So would any record of a compacted topic. Those
records are published to a topic of stranded records, ``<topic>.stranded``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

#: Names the run whose stranded record this is; it also distinguishes it from an application's record.
RUN_HEADER = "kafka-dr-origin-run"


class Destination(StrEnum):
    """Where a record is published."""

    TOPIC = "topic"
    STRANDED_TOPIC = "side_topic"
    KEPT_ONLY = "kept_only"
    ERASED = "erased"


def stranded_topic(topic: str) -> str:
    """Return the topic of a topic's stranded records."""
    return f"{topic}.stranded"


def destination(
    *,
    key: bytes | None,
    written_since: Collection[bytes],
    compacted: bool,
    canary: bool,
    exists: bool,
    fits: bool,
    fits_stranded_topic: bool,
) -> Destination:
    """Decide where a record is published.

    :param written_since: keys that applications have written to this topic on the active cluster since the failover
    :param compacted: whether either cluster compacts the topic
    :param canary: whether it is the topic of canaries, which nobody needs any more
    :param exists: whether the active cluster has this partition of the topic
    :param fits: whether the topic takes a record of its size, with the headers that name its origin
    :param fits_stranded_topic: whether its topic of stranded records does
    """
    to_stranded_topic = compacted or not (exists and fits) or (key is not None and key in written_since)
    if canary or (to_stranded_topic and not fits_stranded_topic):
        return Destination.KEPT_ONLY
    return Destination.STRANDED_TOPIC if to_stranded_topic else Destination.TOPIC


@dataclass(slots=True)
class KeysSince:
    """Which keys applications have written to a topic since the failover; each call reads the newest records.

    :param reader: the active cluster, reached as audit
    :param starts: the end of each partition at the failover
    :param run: the unplanned run; records that were published again for it do not count
    """

    reader: KafkaCluster
    starts: Mapping[TopicPartition, int]
    run: str
    _reached: dict[TopicPartition, int] = field(default_factory=dict)
    _found: set[bytes] = field(default_factory=set)

    def among(self, wanted: Collection[bytes]) -> frozenset[bytes]:
        """Return those of the keys that were written so far."""
        topics = self.reader.topics
        log_starts, ends = topics.log_starts(self.starts), topics.last_stable_offsets(self.starts)
        ranges = {}
        for partition, start in self.starts.items():
            begin = max(self._reached.get(partition, start), log_starts[partition])
            if begin < ends[partition]:
                ranges[partition] = OffsetRange(begin, ends[partition])
        marker = self.run.encode()
        for record in self.reader.log.read(ranges):
            if record.key is not None and not _carries(record.headers, marker):
                self._found.add(record.key)
        self._reached |= {partition: each.end for partition, each in ranges.items()}
        return frozenset(self._found.intersection(wanted))


def _carries(headers: Iterable[tuple[str, bytes | None]], marker: bytes) -> bool:
    return any(name == RUN_HEADER and value == marker for name, value in headers)
