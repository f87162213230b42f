"""Reading two logs beside each other, as records that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kafka_dr.audit import Entry, fingerprint
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

T = TypeVar("T")
#: Stretches of logs that are passed over: records that are nobody's copy and have no copy, by decision.
Aside = Mapping[TopicPartition, Sequence[OffsetRange]]


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
        content = fingerprint(
            timestamp_ms=record.timestamp_ms, key=record.key, value=record.value, headers=record.headers
        )
        found.setdefault(record.topic_partition, []).append(Entry(record.offset, content))
    return found


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
