"""Compares the tail of a copy on both clusters, part by part: while it grows, and to its end when it does not."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from functools import partial

from kafka_dr.adoption.take_over.tail import (
    OtherRecords,
    PartitionTail,
    TailFault,
    judged,
    up_to_last_copy,
)
from kafka_dr.adoption.take_over.tail_parts import GROWTH, MOST_OFFSETS, HeldTail, TailPart, batch_of, part_from
from kafka_dr.audit.compaction import CLEANUP, Side, compacts
from kafka_dr.audit.corruption import Parts
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.flow_ends import held
from kafka_dr.clusters.log import Isolation
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.observation.records import ReadLog, SeenRecord
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

#: Offsets of the source before a tail in which the original of a second copy is looked for; the more distant ones only
#: if it is not among the nearer ones.
_LOOK_BACK = (50_000, MOST_OFFSETS // 2)

Ranges = Mapping[TopicPartition, OffsetRange]


class CopyTail:
    """The tail of a copy, and up to where it is compared.

    :param source: reached as audit
    :param target: reached as audit, with the copies under the names of their originals
    :param begin: by partition, up to where an audit compared; other partitions are compared from their start
    """

    def __init__(self, source: KafkaCluster, target: FlowCluster, begin: Mapping[TopicPartition, SeedPoint]) -> None:
        self._source = source
        self._target = target
        self._tails = {p: PartitionTail(point, 0) for p, point in begin.items()}
        #: What the clusters held at the first look, and at the last one.
        self._first: dict[TopicPartition, HeldTail] = {}
        self._held: dict[TopicPartition, HeldTail] = {}
        self._sizes: dict[TopicPartition, int] = {}
        #: By partition whose next records may be copies of what is not committed: up to where that was decided.
        self._waiting: dict[TopicPartition, int] = {}

    @property
    def tails(self) -> dict[TopicPartition, PartitionTail]:
        """What was found of each partition until now, of those that were asked for."""
        return {p: self._tails[p] for p in self._held}

    @property
    def left(self) -> dict[TopicPartition, int]:
        """How many offsets of the target were not compared yet at the last look, where there are any."""
        left = {p: each.target.end - self._tails[p].point.target for p, each in self._held.items()}
        return {p: count for p, count in left.items() if count > 0}

    @property
    def held_back(self) -> dict[TopicPartition, int]:
        """Where transactions of the source are still open that were open at the first look.

        By partition of which something is left: the offset from which on nobody knows what will be committed.
        """
        return {p: self._held[p].stable for p in self.left if self._held[p].stable < self._first[p].written}

    def advance(self, partitions: Collection[TopicPartition]) -> None:
        """Compare the next part of what was copied; of several partitions at once, if they fit.

        :param partitions: of the target
        """
        self._look(partitions)
        left = self.left
        parts = {p: self._part(p) for p in left if self._waiting.get(p) != self._held[p].stable}
        if not parts:
            return
        batch = batch_of(parts, left)
        on_source, on_target = at_once(
            lambda: _read(self._source, {p: parts[p].source for p in batch}),
            lambda: _read(self._target, {p: parts[p].target for p in batch}),
        )
        compacted = self._compacted({p.topic for p in batch})
        for p in batch:
            source = ReadLog(on_source[p], parts[p].source, self._held[p].source)
            target = ReadLog(on_target[p], parts[p].target, self._held[p].target)
            self._compare(p, parts[p], source, target, compacted=p.topic in compacted)

    def _look(self, partitions: Collection[TopicPartition]) -> None:
        # In this order: what the target has by then, the source has, too; and what is decided is asked last.
        target = held(self._target, partitions)
        written = self._source.topics.high_watermarks(partitions)
        source = held(self._source, partitions)
        self._held = {p: HeldTail(source[p], target[p], written[p]) for p in partitions}
        self._first = self._held | self._first
        for p, each in self._held.items():
            found = self._tails.setdefault(p, PartitionTail(SeedPoint(each.source.start, each.target.start), 0))
            count = each.source.start - found.point.source
            # A log that is empty now holds nothing to copy.
            if count > 0 and len(each.source):
                fault = TailFault("deleted", p, found.point.source, None, count)
                point = found.point._replace(source=each.source.start)
                self._tails[p] = replace(found, point=point, faults=(*found.faults, fault))

    def _part(self, p: TopicPartition) -> TailPart:
        now, first = self._held[p], self._first[p]
        same_copy = now.target.end == first.target.end and now.stable >= first.written
        decided = now.stable >= now.written or same_copy
        return part_from(self._tails[p].point, now, decided=decided, size=self._sizes.get(p, 1))

    def _compare(self, p: TopicPartition, part: TailPart, source: ReadLog, target: ReadLog, *, compacted: bool) -> None:
        before = self._tails[p]
        known = (source, target) if part.complete else up_to_last_copy(source, target)
        found = None
        if part.complete or known[1].read.end > before.point.target:
            found = self._judged(p, *known, compacted=compacted)
        if found is None or (compacted and found.faults and not part.complete):
            # No copy was found. Or a record seems to be lost, and the later one that replaced it was not read.
            if part.grows:
                self._sizes[p] = self._sizes.get(p, 1) * GROWTH
                return
            if part.waits:
                self._waiting[p] = self._held[p].stable
                return
            found = self._judged(p, source, target, compacted=compacted)
        self._sizes.pop(p, None)
        self._tails[p] = PartitionTail(found.point, before.records + found.records, (*before.faults, *found.faults))

    def _judged(self, p: TopicPartition, source: ReadLog, target: ReadLog, *, compacted: bool) -> PartitionTail:
        point = self._tails[p].point
        begin = SeedPoint(max(point.source, source.read.start), point.target)
        living = partial(self._living, p, (source, target))
        found = judged(p, source, target, begin, compacted=compacted, living=living)
        if found.records == len(target.records):
            return found
        for count in _LOOK_BACK:
            others = self._others(p, source, count)
            found = judged(p, source, target, begin, others, compacted=compacted, living=living)
            if found.explained or source.read.start - count <= source.held.start:
                break
        return found

    def _living(
        self, p: TopicPartition, logs: tuple[ReadLog, ReadLog], cluster: Side, keys: Collection[Hashable]
    ) -> Collection[Hashable]:
        """Return of which of these keys a cluster holds a value from before what was read."""
        before, reached = logs[cluster], self._target if cluster else self._source
        values: dict[Hashable, bool] = {}
        if before.held.start < before.read.start:
            for record in reached.log.read({p: OffsetRange(before.held.start, before.read.start)}):
                parts = SeenRecord.of(record).parts
                if parts.key in keys:
                    values[parts.key] = parts.value is not None
        return {key for key, is_there in values.items() if is_there}

    def _others(self, p: TopicPartition, source: ReadLog, count: int) -> OtherRecords:
        """Read what else of the source the target may have copies of.

        :param count: how many offsets before what was read
        """
        begin = source.read.start
        wanted = OffsetRange(max(min(source.held.start, begin), begin - count), source.read.end)
        before = _read(self._source, {p: OffsetRange(wanted.start, begin)})[p]
        committed = {record.offset for record in (*before, *source.records)}
        aborted: frozenset[Parts] = frozenset()
        if len(committed) < len(wanted):
            every = _read(self._source, {p: wanted}, "read_uncommitted")[p]
            aborted = frozenset(record.parts for record in every if record.offset not in committed)
        return OtherRecords(frozenset(record.parts for record in before), aborted)

    def _compacted(self, topics: Collection[str]) -> frozenset[str]:
        both = at_once(lambda: self._source.configs.describe(topics), lambda: self._target.configs.describe(topics))
        for error in (error for found in both for error in found.errors.values()):
            raise error
        return frozenset(
            topic for found in both for topic, config in found.configs.items() if compacts(config[CLEANUP].value)
        )


def _read(
    cluster: FlowCluster, ranges: Ranges, isolation: Isolation = "read_committed"
) -> dict[TopicPartition, list[SeenRecord]]:
    found: dict[TopicPartition, list[SeenRecord]] = {p: [] for p in ranges}
    for record in cluster.log.read({p: each for p, each in ranges.items() if len(each)}, isolation=isolation):
        found[record.topic_partition].append(SeenRecord.of(record))
    return found
