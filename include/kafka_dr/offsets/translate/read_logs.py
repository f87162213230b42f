"""Reads two logs at the same time, as records that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka_dr.audit.compacted_walk import KeyedEntry
from kafka_dr.audit.copies import Entry, comparable, fingerprint
from kafka_dr.clusters import Record, Topic
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.parallel import ask_all, at_once
from kafka_dr.positions import OffsetRange, TopicPartition

E = TypeVar("E")
T = TypeVar("T")
#: Ranges of logs that are left out: by decision, their records are neither copied nor a copy.
Ignored = Mapping[TopicPartition, Sequence[OffsetRange]]
Entries = dict[TopicPartition, list[Entry]]
#: By partition, rising.
Ranges = Mapping[TopicPartition, Collection[OffsetRange]]
#: Parallel consumers on each cluster. To connect takes a consumer as long as three reads.
_READERS = 2
_READS_A_READER = 3


def read_both(
    source: FlowCluster,
    target: FlowCluster,
    source_ranges: Ranges,
    target_ranges: Ranges,
    ignored: tuple[Ignored, Ignored] = ({}, {}),
) -> tuple[Entries, Entries]:
    """Read ranges of both clusters at the same time.

    Contents can be compared, whichever cluster the records were copied to.

    :param ignored: what is left out, on the source and on the target
    """
    found, copies = at_once(
        lambda: entries_of(source, source_ranges, ignored[0]), lambda: entries_of(target, target_ranges, ignored[1])
    )
    pairs = {p: comparable(found.get(p, ()), copies.get(p, ())) for p in found.keys() | copies.keys()}
    return {p: list(pair[0]) for p, pair in pairs.items()}, {p: list(pair[1]) for p, pair in pairs.items()}


def entries_of(cluster: FlowCluster, ranges: Ranges, ignored: Ignored) -> Entries:
    """Read the records of ranges, in order; a partition without a record there is not in the answer.

    :param ranges: by partition, rising
    """
    return read_as(entry_of, cluster, ranges, ignored)


def read_as(
    made_of: Callable[[Record], E], cluster: FlowCluster, ranges: Ranges, ignored: Ignored
) -> dict[TopicPartition, list[E]]:
    """Read the records of ranges, in order, each as what is made of it; see :func:`entries_of`.

    One consumer reads the first range of every partition, one the second, and so on.
    """
    read = layers((partition, wanted) for partition, found in ranges.items() for wanted in found)

    def of_layer(number: int) -> list[tuple[TopicPartition, E]]:
        found = []
        for record in cluster.log.read(dict(read[number])):
            if any(record.offset in each for each in ignored.get(record.topic_partition, ())):
                continue
            # Each record becomes an entry at once: an entry is small, whatever the record's size.
            found.append((record.topic_partition, made_of(record)))
        return found

    entries: dict[TopicPartition, list[E]] = {}
    at_most = min(_READERS, -(-len(read) // _READS_A_READER))
    for found in ask_all(of_layer, range(len(read)), at_most=at_most).values():
        for partition, entry in found:
            entries.setdefault(partition, []).append(entry)
    return entries


def entry_of(record: Record) -> Entry:
    """Return a record as it is compared."""
    return Entry.of(
        record.offset,
        timestamp_ms=record.timestamp_ms,
        stamped=record.stamped,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )


def keyed_entry_of(record: Record) -> KeyedEntry:
    """Return a record as it is compared, with its key."""
    key = record.key if record.key is None else fingerprint(timestamp_ms=None, key=record.key, value=None)
    return KeyedEntry(entry_of(record), key, record.value is None)


def existing(topics: Mapping[str, Topic], partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return those of the partitions that described topics have.

    :param topics: by name; a topic that does not exist is not among them
    """
    return [p for p in partitions if p.topic in topics and p.partition < len(topics[p.topic].leaders)]


def held_by(
    cluster: FlowCluster, partitions: Iterable[TopicPartition], *, uncommitted: bool = False
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets that a cluster holds of each partition, from its log start on.

    :param uncommitted: up to the high watermark; otherwise up to the last stable offset
    """
    wanted = list(partitions)
    ends_of = cluster.topics.high_watermarks if uncommitted else cluster.topics.last_stable_offsets
    starts, ends = at_once(lambda: cluster.topics.log_starts(wanted), lambda: ends_of(wanted))
    return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in wanted}


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
