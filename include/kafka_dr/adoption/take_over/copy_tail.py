"""Compares the tail of a copy on both clusters: again and again while it grows, and once more when it does not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_dr.adoption.take_over.tail import PartitionTail, TailFault, judged, unexplained
from kafka_dr.audit.corruption import Parts
from kafka_dr.clusters import KafkaCluster
from kafka_dr.errors import Refused
from kafka_dr.observation.comparison import compare
from kafka_dr.observation.meaning import Circumstances
from kafka_dr.observation.records import ReadLog, SeenRecord
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

#: Offsets that are compared at once; more are left to the audit.
MOST_OFFSETS = 500_000
#: Offsets of the source before a tail in which the original of a second copy is looked for.
_BEFORE = 50_000

Ranges = Mapping[TopicPartition, OffsetRange]


@dataclass(frozen=True, slots=True)
class _TailRanges:
    """What is compared of each partition now, and what both clusters hold."""

    source: Ranges
    target: Ranges
    source_held: Ranges
    target_held: Ranges


class CopyTail:
    """The tail of a copy, and up to where it is compared.

    :param source: reached as audit
    :param target: reached as audit
    :param begin: by partition, up to where an audit compared; other partitions are compared from their start
    """

    def __init__(self, source: KafkaCluster, target: KafkaCluster, begin: Mapping[TopicPartition, SeedPoint]) -> None:
        self._source = source
        self._target = target
        self._points = dict(begin)
        self._tails: dict[TopicPartition, PartitionTail] = {}

    @property
    def tails(self) -> dict[TopicPartition, PartitionTail]:
        """What was found of each partition until now."""
        return dict(self._tails)

    def advance(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, PartitionTail]:
        """Compare what was copied since the last time, and return what was found of each partition until now.

        :param partitions: of the target
        :raises Refused: there is too much to compare
        """
        ranges = self._ranges(partitions)
        count = sum(len(each) for each in (*ranges.source.values(), *ranges.target.values()))
        if count > MOST_OFFSETS:
            raise Refused(
                f"{count:,} offsets are to be compared since the audit, and {MOST_OFFSETS:,} are compared at once: the "
                "audit is too old, so audit again"
            )
        on_source, on_target = at_once(
            lambda: _read(self._source, ranges.source), lambda: _read(self._target, ranges.target)
        )
        compacted = self._compacted({p.topic for p in partitions})
        for p in partitions:
            source = ReadLog(on_source[p], ranges.source[p], ranges.source_held[p])
            target = ReadLog(on_target[p], ranges.target[p], ranges.target_held[p])
            self._compare(p, source, target, compacted=p.topic in compacted)
        return self.tails

    def _ranges(self, partitions: Collection[TopicPartition]) -> _TailRanges:
        # In this order: what the target has by then, the source has, too.
        target = held_by(self._target, partitions)
        source = held_by(self._source, partitions)
        for p in partitions:
            self._points.setdefault(p, SeedPoint(source[p].start, target[p].start))
        return _TailRanges(
            {p: _from(self._points[p].source, source[p]) for p in partitions},
            {p: _from(self._points[p].target, target[p]) for p in partitions},
            source,
            target,
        )

    def _compare(self, p: TopicPartition, source: ReadLog, target: ReadLog, *, compacted: bool) -> None:
        begin, earlier = self._points[p], self._tails.get(p)
        found = compare(p, source, target, Circumstances(late_before=0, compacted=compacted))
        before = self._before(p, begin, source.held) if unexplained(found) else frozenset()
        tail = judged(found, SeedPoint(max(begin.source, source.read.start), begin.target), before)
        faults = (*(earlier.faults if earlier else ()), *_deleted(p, begin, source), *tail.faults)
        self._tails[p] = PartitionTail(tail.point, tail.records + (earlier.records if earlier else 0), faults)
        self._points[p] = tail.point

    def _before(self, p: TopicPartition, begin: SeedPoint, held: OffsetRange) -> frozenset[Parts]:
        """Return the records of the source right before what is compared."""
        start = max(held.start, begin.source - _BEFORE)
        wanted = OffsetRange(start, max(start, begin.source))
        return frozenset(record.parts for record in _read(self._source, {p: wanted})[p])

    def _compacted(self, topics: Collection[str]) -> frozenset[str]:
        both = at_once(lambda: self._source.topics.configs(topics), lambda: self._target.topics.configs(topics))
        return frozenset(
            topic for found in both for topic, config in found.items() if "compact" in config.get("cleanup.policy", "")
        )


def _from(start: int, held: OffsetRange) -> OffsetRange:
    begin = max(start, held.start)
    return OffsetRange(begin, max(begin, held.end))


def _read(cluster: KafkaCluster, ranges: Ranges) -> dict[TopicPartition, list[SeenRecord]]:
    found: dict[TopicPartition, list[SeenRecord]] = {p: [] for p in ranges}
    for record in cluster.log.read({p: each for p, each in ranges.items() if len(each)}):
        found[record.topic_partition].append(SeenRecord.of(record))
    return found


def _deleted(p: TopicPartition, begin: SeedPoint, source: ReadLog) -> tuple[TailFault, ...]:
    """Name what the source has deleted before it was compared; a log that is empty now holds nothing to copy."""
    count = source.held.start - begin.source
    if count <= 0 or not len(source.held):
        return ()
    return (TailFault("deleted", p, begin.source, None, count),)
