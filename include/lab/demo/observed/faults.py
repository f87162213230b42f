"""Faults that people and programs leave in a copy, really put in on the brokers. Each returns what it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster, Record
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import TryAgain
from kafka_dr.positions import OffsetRange, TopicPartition
from kafka_dr.waiting import wait_until
from lab.demo.observed.identified import PairOfLogs
from lab.demo.observed.others_flow import POSITIONS, copy_of, copy_partition
from lab.demo.observed.truth import ChangedSetting, FaultyRecords, RecordFault
from lab.errors import LabError

WRITTEN_SECONDS = 60.0
_RETENTION, _SHORTER_MS = "retention.ms", "3600000"


@dataclass(frozen=True, slots=True)
class FaultMaker:
    """Puts faults in while MirrorMaker does not run and applications write to the source.

    :param source: as the lab's administrator
    :param target: likewise
    :param pairs: what both clusters held since MirrorMaker ended, by partition of the source
    """

    source: KafkaCluster
    target: KafkaCluster
    pairs: Mapping[TopicPartition, PairOfLogs]

    def skip(self, partition: TopicPartition, count: int) -> FaultyRecords:
        """Move MirrorMaker's position past records, as people do to get past one that it cannot copy."""
        first = self._next(partition, count)
        self._move(partition, first + count - 1)
        return FaultyRecords(RecordFault.LOST, "its position was moved past them", partition, count, first)

    def change(self, partition: TopicPartition) -> FaultyRecords:
        """Write a changed copy of the next record where its copy belongs, as a transform with a mistake does."""
        offset = self._next(partition, 1)
        original = self._record(self.source, partition, offset)
        changed = (original.value or b"").replace(b'"cents": ', b'"cents": 9')
        if changed == original.value:
            raise LabError(
                f"the record at offset {offset} of {partition} on the source is not a payment that can change"
            )
        written = self._write(partition, original.key, changed, original.headers, original.timestamp_ms)
        self._move(partition, offset)
        return FaultyRecords(RecordFault.CHANGED, "another amount was written", partition, 1, offset, written)

    def write_foreign(self, partition: TopicPartition) -> FaultyRecords:
        """Write a record of one's own into the copy."""
        self._next(partition, 1)
        written = self._write(partition, b"account-0", b'{"payment": "a test by hand"}', (), None)
        return FaultyRecords(RecordFault.FOREIGN, "somebody wrote it by hand", partition, 1, None, written)

    def shorten(self, topic: str) -> ChangedSetting:
        """Let the copy keep its records for a shorter time."""
        kept = self.source.topics.configs([topic])[topic][_RETENTION]
        errors = self.target.configs.set({copy_of(topic): {_RETENTION: _SHORTER_MS}})
        for error in errors.values():
            raise error
        return ChangedSetting("somebody wanted to save disks", topic, _RETENTION, kept, _SHORTER_MS)

    def place(self, group: str, partition: TopicPartition, *, read: int, begin: int) -> None:
        """Let a group have committed on both clusters.

        :param read: next to read on the source
        :param begin: next to read on the target
        """
        _set(self.source, group, partition, read)
        _set(self.target, group, copy_partition(partition), begin)

    def end_of_copy(self, partition: TopicPartition) -> int:
        """Return the end of a partition's copy."""
        copy = copy_partition(partition)
        return self.target.topics.high_watermarks([copy])[copy]

    def _next(self, partition: TopicPartition, count: int) -> int:
        """Return the offset of the first record without a copy; some more follow it, so that it is not the last one."""
        first = self.pairs[partition].last_copied + 1
        needed = first + count + 3
        end = wait_until(
            lambda: self.source.topics.high_watermarks([partition])[partition],
            lambda seen: seen >= needed,
            clock=SystemClock(),
            seconds=WRITTEN_SECONDS,
        )
        if end < needed:
            raise LabError(f"{partition} ends at {end} after {WRITTEN_SECONDS:.0f} s, and has to grow to {needed}")
        return first

    def _record(self, cluster: KafkaCluster, partition: TopicPartition, offset: int) -> Record:
        for record in cluster.log.read({partition: OffsetRange(offset, offset + 1)}):
            return record
        raise LabError(f"there is no record at offset {offset} of {partition}")

    def _write(
        self,
        partition: TopicPartition,
        key: bytes | None,
        value: bytes,
        headers: tuple[tuple[str, bytes | None], ...],
        timestamp_ms: int | None,
    ) -> int:
        (offset,) = self.target.writing.append(
            [NewRecord(copy_partition(partition), key, value, headers, timestamp_ms)]
        )
        return offset

    def _move(self, partition: TopicPartition, copied: int) -> None:
        """Say that records are copied; where MirrorMaker keeps that, and in its own words.

        :param copied: the offset of the last one
        """
        found = None
        for record in self._positions():
            words = json.loads(record.key or b"null")
            if isinstance(words, list) and (words[-1]["topic"], words[-1]["partition"]) == (
                partition.topic,
                partition.partition,
            ):
                found = record
        if found is None:
            raise LabError(f"MirrorMaker kept no position of {partition} in {POSITIONS} when it was asked to end")
        value = json.loads(found.value or b"{}") | {"offset": copied}
        self.target.writing.append([NewRecord(found.topic_partition, found.key, json.dumps(value).encode())])

    def _positions(self) -> list[Record]:
        partitions = self.target.topics.describe([POSITIONS])[POSITIONS].partitions
        starts, ends = self.target.topics.log_starts(partitions), self.target.topics.high_watermarks(partitions)
        found = list(self.target.log.read({p: OffsetRange(starts[p], ends[p]) for p in partitions}))
        return [record for record in found if record.key and b'"topic"' in record.key]


def _set(cluster: KafkaCluster, group: str, partition: TopicPartition, offset: int) -> None:
    """Commit an offset of a group, which may be new: its coordinator may not be known yet."""
    wait_until(
        lambda: cluster.groups.set_offsets({group: {partition: offset}}),
        lambda _: True,
        clock=SystemClock(),
        seconds=WRITTEN_SECONDS,
        retry=TryAgain,
    )
