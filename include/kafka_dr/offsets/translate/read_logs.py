"""Reading two logs beside each other, as records that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kafka_dr.audit import Entry, comparable
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

T = TypeVar("T")
#: Stretches of logs that are passed over: records that are nobody's copy and have no copy, by decision.
Aside = Mapping[TopicPartition, Sequence[OffsetRange]]
Entries = dict[TopicPartition, list[Entry]]


def entries_of(
    cluster: KafkaCluster, ranges: Mapping[TopicPartition, OffsetRange], aside: Aside | None = None
) -> dict[TopicPartition, list[Entry]]:
    """Read what lies in these ranges, in order; a partition without a record there is not in the answer.

    :param aside: what is left out
    """
    found: dict[TopicPartition, list[Entry]] = {}
    passed_over = aside or {}
    for record in cluster.log.read(ranges):
        if any(each.start <= record.offset < each.end for each in passed_over.get(record.topic_partition, ())):
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


def both_ways(here: Entries, there: Entries) -> tuple[Entries, Entries]:
    """Return what was read of both sides so that contents can be compared, whichever way it was replicated."""
    pairs = {p: comparable(here.get(p, ()), there.get(p, ())) for p in here.keys() | there.keys()}
    return {p: list(pair[0]) for p, pair in pairs.items()}, {p: list(pair[1]) for p, pair in pairs.items()}


def held_by(cluster: KafkaCluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets that a cluster holds of each partition, up to its last stable offset."""
    wanted = list(partitions)
    starts, ends = cluster.topics.log_starts(wanted), cluster.topics.last_stable_offsets(wanted)
    return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in wanted}


def both(here: Callable[[], T], there: Callable[[], T]) -> tuple[T, T]:
    """Do one thing on either side, at the same time."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(here), pool.submit(there)
        return first.result(), second.result()


#: Offsets that are looked at behind each place, in the first round and in the last.
_WINDOWS = (16, 256, 4_096)
Places = Mapping[TopicPartition, Collection[int]]


def moments(
    cluster: KafkaCluster, places: Places, held: Mapping[TopicPartition, OffsetRange]
) -> dict[tuple[TopicPartition, int], int]:
    """Return when the first record at or after each place was made, in milliseconds since the epoch.

    :param cluster: as audit
    :param held: what the cluster holds of each partition
    :returns: without the places that no record follows closely
    """
    found: dict[tuple[TopicPartition, int], int] = {}
    for window in _WINDOWS:
        left = {p: {at for at in wanted if (p, at) not in found} for p, wanted in places.items() if p in held}
        ranges = {
            (p, at): OffsetRange(begin, min(held[p].end, begin + window))
            for p, wanted in left.items()
            for at in wanted
            if (begin := max(at, held[p].start)) < held[p].end
        }
        for layer in _layers(ranges):
            asked = dict(layer)
            for record in cluster.log.read({p: ranges[p, at] for p, at in layer}):
                found.setdefault((record.topic_partition, asked[record.topic_partition]), record.timestamp_ms)
    return found


def _layers(ranges: Collection[tuple[TopicPartition, int]]) -> list[list[tuple[TopicPartition, int]]]:
    """Put the places into layers, each with at most one of every partition: what one consumer can read at once."""
    layers: list[list[tuple[TopicPartition, int]]] = []
    seen: dict[TopicPartition, int] = {}
    for partition, at in sorted(ranges):
        number = seen.get(partition, 0)
        seen[partition] = number + 1
        if number == len(layers):
            layers.append([])
        layers[number].append((partition, at))
    return layers
