"""Reads both logs of a flow, some partitions at a time, and compares them; within limits, and says what it left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_dr.audit.corruption import Parts
from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.flow_ends import held
from kafka_dr.clusters.held_back import HeldBack, HeldBackLook
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.errors import KafkaDrError
from kafka_dr.observation.comparison import PartitionComparison, compare
from kafka_dr.observation.meaning import Circumstances
from kafka_dr.observation.records import NOTHING, ReadLog, SeenRecord
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, TopicPartition

_NOTHING_HELD = HeldBackLook()
#: Partitions that are read at the same time, unless their records are too many.
_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much is read.

    :param per_partition: the newest records of a partition, on each cluster
    :param records: of all partitions together, on each cluster
    :param in_time: returns whether there is time for more
    """

    per_partition: int
    records: int
    in_time: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ComparedPartitions:
    """What was compared.

    :param left_out: by partition, why it was not
    :param held: what open transactions on the source hold back; it was compared, too
    """

    compared: Mapping[TopicPartition, PartitionComparison] = field(default_factory=dict)
    left_out: Mapping[TopicPartition, str] = field(default_factory=dict)
    held: HeldBackLook = field(default_factory=HeldBackLook)


def compare_all(
    source: KafkaCluster,
    target: FlowCluster,
    partitions: Mapping[TopicPartition, bool],
    circumstances: Callable[[TopicPartition], Circumstances],
    limits: ReadingLimits,
) -> ComparedPartitions:
    """Compare partitions.

    :param partitions: of the source; whether each exists on the target
    :param circumstances: what is known about a partition
    """
    compared: dict[TopicPartition, PartitionComparison] = {}
    left_out: dict[TopicPartition, str] = {}
    used, held_back = 0, HeldBackLook()
    for batch in _batches(sorted(partitions), max(1, min(_AT_ONCE, limits.records // limits.per_partition))):
        if used >= limits.records or not limits.in_time():
            spent = "most_records" if used >= limits.records else "most_seconds"
            left_out |= dict.fromkeys(batch, f"not reached: {spent} of the flow was used up")
            continue
        try:
            found, *logs = _read(source, target, batch, [p for p in batch if partitions[p]], limits.per_partition)
        except KafkaDrError as error:
            left_out |= dict.fromkeys(batch, str(error))
            continue
        held_back = held_back.with_other(found)
        known = {p: _known(circumstances(p), found.partitions.get(p)) for p in batch}
        used += max(sum(len(log.records) for log in each.values()) for each in logs)
        for p in batch:
            compared[p] = compare(p, logs[0][p], logs[1].get(p, NOTHING), known[p])
        for p in (p for p in batch if compared[p].counts["foreign"]):
            known[p] = replace(known[p], aborted=_aborted(source, p, logs[0][p]))
            compared[p] = compare(p, logs[0][p], logs[1].get(p, NOTHING), known[p])
    return ComparedPartitions(compared, left_out, held_back)


def _known(found: Circumstances, held: HeldBack | None) -> Circumstances:
    return found if held is None else replace(found, undecided=held.open_ranges)


_Logs = dict[TopicPartition, ReadLog]


def _read(
    source: KafkaCluster,
    target: FlowCluster,
    partitions: Sequence[TopicPartition],
    copied: Collection[TopicPartition],
    most: int,
) -> tuple[HeldBackLook, _Logs, _Logs]:
    """Read both clusters. The target's ends are asked first: what it has by then, the source has, too.

    Of the source also what open transactions hold back: a disaster takes it, and some replicators copy it all the same.
    """
    on_target = held(target, copied)
    found = source.held_back.look(partitions)
    starts = source.topics.log_starts(partitions)
    on_source = {p: OffsetRange(starts[p], max(starts[p], end)) for p, end in found.ends.items()}
    logs = at_once(lambda: _logs(source, on_source, most, found), lambda: _logs(target, on_target, most))
    return found, *logs


def _logs(
    cluster: FlowCluster, held: Mapping[TopicPartition, OffsetRange], most: int, found: HeldBackLook = _NOTHING_HELD
) -> _Logs:
    ranges = {p: OffsetRange(max(each.start, each.end - most), each.end) for p, each in held.items()}
    stable = {p: _until(each, found.stable.get(p, each.end)) for p, each in ranges.items()}
    records: dict[TopicPartition, list[SeenRecord]] = {p: [] for p in held}
    for record in cluster.log.read(stable):
        records[record.topic_partition].append(SeenRecord.of(record))
    rest = {p: OffsetRange(stable[p].end, ranges[p].end) for p in found.partitions if p in ranges}
    for record in cluster.log.read(rest, isolation="read_uncommitted"):
        each = found.partitions[record.topic_partition]
        if any(record.offset in some for some in (*each.acknowledged, *each.open_ranges)):
            records[record.topic_partition].append(SeenRecord.of(record))
    return {p: ReadLog(records[p], ranges[p], held[p]) for p in held}


def _until(read: OffsetRange, stable: int) -> OffsetRange:
    return OffsetRange(read.start, min(max(read.start, stable), read.end))


def _aborted(source: FlowCluster, partition: TopicPartition, log: ReadLog) -> frozenset[Parts]:
    """Return the records that a reader of committed records does not see: some replicators copy them."""
    if len(log.records) == len(log.read):
        return frozenset()
    committed = {record.offset for record in log.records}
    every = source.log.read({partition: log.read}, isolation="read_uncommitted")
    return frozenset(SeenRecord.of(record).parts for record in every if record.offset not in committed)


def _batches(partitions: Sequence[TopicPartition], size: int) -> Iterator[Sequence[TopicPartition]]:
    for begin in range(0, len(partitions), size):
        yield partitions[begin : begin + size]
