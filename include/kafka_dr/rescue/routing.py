"""Where a stranded record may go, so that nothing newer is overwritten by something older.

A record whose key was written on the active side since would undo what is newer, for every reader that keeps the last
value of a key; so would any record of a compacted topic. Those go to a topic beside the original.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

#: Says which run's stranded record this is; also how a record that was published again is told from an application's.
RUN_HEADER = "kafka-dr-origin-run"


class Destination(StrEnum):
    """Where a record goes."""

    TOPIC = "topic"
    SIDE_TOPIC = "side_topic"
    KEPT_ONLY = "kept_only"


def side_topic(topic: str) -> str:
    """Return the topic beside a topic."""
    return f"{topic}.stranded"


def destination(
    *,
    key: bytes | None,
    written_since: Collection[bytes],
    compacted: bool,
    canary: bool,
    exists: bool,
    fits: bool,
    fits_beside: bool,
) -> Destination:
    """Decide where a record goes.

    :param written_since: keys that applications have written to this topic on the active side since the switch
    :param compacted: whether either side compacts the topic
    :param canary: whether it is the topic of canaries: what they were sent for is long over
    :param exists: whether the active side has this partition of the topic
    :param fits: whether the topic takes a record of its size, with what is said about its origin
    :param fits_beside: whether the topic beside it does
    """
    aside = compacted or not (exists and fits) or (key is not None and key in written_since)
    if canary or (aside and not fits_beside):
        return Destination.KEPT_ONLY
    return Destination.SIDE_TOPIC if aside else Destination.TOPIC


@dataclass(slots=True)
class KeysSince:
    """Which of some keys applications have written to a topic since the switch; read on each time it is asked.

    :param reader: the active cluster, reached as audit
    :param starts: where each partition ended when the switch was made
    :param run: the unplanned run; what was published again on its behalf does not count
    """

    reader: KafkaCluster
    starts: Mapping[TopicPartition, int]
    run: str
    _reached: dict[TopicPartition, int] = field(default_factory=dict)
    _found: set[bytes] = field(default_factory=set)

    def among(self, wanted: Collection[bytes]) -> frozenset[bytes]:
        """Return those of the keys that were written by now."""
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
