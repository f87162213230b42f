"""Reads two logs at the same time, as records that can be compared, and the times of records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka_dr.audit import Entry, comparable
from kafka_dr.clusters import KafkaCluster
from kafka_dr.positions import OffsetRange, TopicPartition

T = TypeVar("T")
#: Ranges of logs that are left out: by decision, their records are neither copied nor a copy.
Ignored = Mapping[TopicPartition, Sequence[OffsetRange]]
Entries = dict[TopicPartition, list[Entry]]
#: Offsets that are read after each wanted one to find a record, in the first round and in the last.
_WINDOWS = (16, 256, 4_096)


def entries_of(
    cluster: KafkaCluster, ranges: Mapping[TopicPartition, OffsetRange], ignored: Ignored | None = None
) -> Entries:
    """Read the records of ranges, in order; a partition without a record there is not in the answer."""
    found: Entries = {}
    for record in cluster.log.read(ranges):
        if any(record.offset in each for each in (ignored or {}).get(record.topic_partition, ())):
            continue
        entry = Entry.of(
            record.offset,
            timestamp_ms=record.timestamp_ms,
            stamped=record.stamped,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
        found.setdefault(record.topic_partition, []).append(entry)
    return found


def both_ways(source: Entries, target: Entries) -> tuple[Entries, Entries]:
    """Return what was read so that contents can be compared, whichever cluster the records were copied to."""
    pairs = {p: comparable(source.get(p, ()), target.get(p, ())) for p in source.keys() | target.keys()}
    return {p: list(pair[0]) for p, pair in pairs.items()}, {p: list(pair[1]) for p, pair in pairs.items()}


def held_by(cluster: KafkaCluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets that a cluster holds of each partition, up to its last stable offset."""
    wanted = list(partitions)
    starts, ends = cluster.topics.log_starts(wanted), cluster.topics.last_stable_offsets(wanted)
    return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in wanted}


def record_times(
    cluster: KafkaCluster,
    offsets: Mapping[TopicPartition, Collection[int]],
    held: Mapping[TopicPartition, OffsetRange],
) -> dict[tuple[TopicPartition, int], int]:
    """Return the time of the first record at or after each offset, in milliseconds since the epoch.

    :param cluster: as audit
    :param held: what the cluster holds of each partition
    :returns: without the offsets that no record follows closely
    """
    found: dict[tuple[TopicPartition, int], int] = {}
    for window in _WINDOWS:
        left = {p: {at for at in wanted if (p, at) not in found} for p, wanted in offsets.items() if p in held}
        ranges = {
            (p, at): OffsetRange(begin, min(held[p].end, begin + window))
            for p, wanted in left.items()
            for at in wanted
            if (begin := max(at, held[p].start)) < held[p].end
        }
        for layer in layers(sorted(ranges)):
            asked = dict(layer)
            for record in cluster.log.read({p: ranges[p, at] for p, at in layer}):
                found.setdefault((record.topic_partition, asked[record.topic_partition]), record.timestamp_ms)
    return found


def layers(wanted: Iterable[tuple[TopicPartition, T]]) -> list[list[tuple[TopicPartition, T]]]:
    """Put what is wanted into layers, each with at most one of every partition: what one consumer can read at once."""
    found: list[list[tuple[TopicPartition, T]]] = []
    seen: dict[TopicPartition, int] = {}
    for partition, each in wanted:
        number = seen.get(partition, 0)
        seen[partition] = number + 1
        if number == len(found):
            found.append([])
        found[number].append((partition, each))
    return found
