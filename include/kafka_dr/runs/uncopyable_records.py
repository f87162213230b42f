"""The records that a flow cannot copy and that stop it: which they are, why, and where a person reads what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.model import Record
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus
from kafka_dr.runs.group_context import GroupContext

#: As many offsets may be in the batch that the flow could not copy: a flow reads no more at once.
_OFFSETS = 500
_STALL_SECONDS = 3.0
_SHOWN = 3
#: Kafka's number for "no timestamp", which a flow may replace by the time of the copy.
_NO_TIME = -1
#: What a producer adds to a record at most: lengths, offsets and the header of its batch.
_OVERHEAD = 128
#: Where the runbook says what to do.
WAY_OUT = 'see "A record that cannot be copied" in the runbook of dr_flows'


@dataclass(frozen=True, slots=True)
class UncopyableRecord:
    """A record of the source.

    :param part: the part of it that keeps it from being copied
    :param before: how many offsets of its partition before it are not copied yet
    """

    partition: TopicPartition
    offset: int
    part: str
    before: int

    def __str__(self) -> str:
        waiting = f", after {counted(self.before, 'offset')}, which wait for it" if self.before else ""
        return f"{self.partition} offset {self.offset} ({self.part}{waiting})"


def why_it_stops(context: GroupContext, flow: Flow, status: FlowStatus) -> str:
    """Name the records that have stopped a flow which failed; empty if none is found, or if it did not fail."""
    if status.state != "failed":
        return ""
    try:
        found = uncopyable(context, flow)
    except KafkaDrError:
        # The cause of the task is named all the same.
        return ""
    named = ", ".join(map(str, found[:_SHOWN])) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return f"{flow.name} cannot copy {named}: {WAY_OUT}" if found else ""


def uncopyable(context: GroupContext, flow: Flow) -> tuple[UncopyableRecord, ...]:
    """Return the first record of each partition that cannot be copied, near the flow's position.

    :raises KafkaDrError: a cluster or the flow cannot be asked
    """
    source, replicator = context.clients.cluster(flow.source, "audit"), context.clients.replicator(flow)
    positions, partitions = replicator.positions(), context.partitions(flow.source)
    ends, starts = source.topics.last_stable_offsets(partitions), source.topics.log_starts(partitions)
    begins = {p: max(starts[p], positions.get(p, 0)) for p in partitions}
    waiting = {p: OffsetRange(at, min(ends[p], at + _OFFSETS)) for p, at in begins.items() if at < ends[p]}
    limit = replicator.copy_settings().most_record_bytes
    return tuple(_first_of_each(source, waiting, limit, _compacted(context, flow, {p.topic for p in waiting})))


def _first_of_each(
    source: KafkaCluster, waiting: Mapping[TopicPartition, OffsetRange], limit: int, compacted: Collection[str]
) -> Iterator[UncopyableRecord]:
    seen: set[TopicPartition] = set()
    for record in source.log.read(dict(waiting), stall_seconds=_STALL_SECONDS):
        partition = record.topic_partition
        if partition not in seen and (part := part_that_stops(record, limit=limit, compacted=compacted)):
            seen.add(partition)
            yield UncopyableRecord(partition, record.offset, part, record.offset - waiting[partition].start)


def part_that_stops(record: Record, *, limit: int, compacted: Collection[str]) -> str:
    """Return which part of a record keeps it from being copied, and why; empty if it can be copied. Pure.

    :param limit: bytes of a record before compression
    :param compacted: topics that are compacted on the target
    """
    size = sum(len(each or b"") for each in (record.key, record.value)) + _OVERHEAD
    size += sum(len(name) + len(value or b"") for name, value in record.headers)
    if record.timestamp_ms < 0 and record.timestamp_ms != _NO_TIME:
        return f"its time, {record.timestamp_ms} ms, is before 1970"
    if size > limit:
        return f"its size, {size:,} bytes before compression, is above {limit:,}"
    if record.key is None and record.topic in compacted:
        return "its key is missing, and the topic is compacted there"
    return ""


def _compacted(context: GroupContext, flow: Flow, topics: Collection[str]) -> frozenset[str]:
    target = context.operator(flow.target).topics
    found = target.settings(set(topics) & target.names(), ["cleanup.policy"])
    return frozenset(name for name, each in found.items() if "compact" in each.get("cleanup.policy", ""))
