"""The audit's self-test: a topic of known faults, written to both clusters, in which each audit must find every fault.

Every run appends a batch of its own, and compares nothing else of the topic. For a flow that is only observed nothing
may be written: the same records come from memory, and take the same way from the data frame on.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jobs.fingerprint_log import FlowEnd
from kafka_dr.audit.corruption import Parts, Payload, PayloadOf
from kafka_dr.audit.difference import Difference, Suspects
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import KafkaCluster, OffsetRange, Record, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.parallel import at_once

TOPIC = "_kafka_dr.selftest"
_PARTITIONS = 2
_RECORDS = 24
_CONFIG = {"retention.ms": "86400000", "cleanup.policy": "delete"}
_Expected = tuple[FindingKind, int, int | None, int | None, int]


@dataclass(frozen=True, slots=True)
class SelfTestBatch:
    """What one run wrote.

    Other audits may append to the topic at the same time, so the ranges may hold more than that.

    :param source: the offsets that it wrote on the source, by partition
    :param target: the same on the target
    :param expected: what an audit of these ranges has to find
    :param records: by cluster, the records that no cluster has; empty if they were written
    """

    source: dict[TopicPartition, tuple[int, ...]]
    target: dict[TopicPartition, tuple[int, ...]]
    expected: tuple[_Expected, ...]
    records: Mapping[FlowEnd, tuple[Record, ...]] = field(default_factory=dict)

    @staticmethod
    def ranges(offsets: dict[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, OffsetRange]:
        """Return what has to be read of a cluster."""
        return {partition: OffsetRange(min(each), max(each) + 1) for partition, each in offsets.items()}

    def missed(self, found: Sequence[Difference]) -> list[str]:
        """Return, in words, what was not found, and what was found without being there."""
        seen = {(d.kind, d.partition, d.source_offset, d.target_offset, d.count) for d in found}
        missing = [f"{each[0]} in partition {each[1]} was not found" for each in self.expected if each not in seen]
        invented = [f"{each[0]} in partition {each[1]} is not there" for each in seen.difference(self.expected)]
        return [*missing, *sorted(invented)]

    def payloads(self, _suspects: Sequence[Suspects]) -> tuple[PayloadOf, PayloadOf]:
        """Return how the payloads of records are looked up that no cluster has."""
        return _looking_in(self.records["source"]), _looking_in(self.records["target"])


@dataclass(frozen=True, slots=True)
class _Copied:
    """A record of the target: which record of the source it is a copy of, and how it was changed.

    :param moved_from: the partition of the original, if that is another one
    """

    origin: int
    change: Callable[[NewRecord], NewRecord] = lambda record: record
    moved_from: int | None = None


def _faulty() -> dict[int, list[_Copied]]:
    """Return the copy, by partition. :func:`truth` lists what it lacks, repeats and changes."""
    first = [_Copied(n) for n in range(_RECORDS)]
    second = [_Copied(n) for n in range(_RECORDS)]
    del first[22]
    second.insert(20, _Copied(22, moved_from=0))
    first[20] = _Copied(20, lambda r: replace(r, timestamp_ms=(r.timestamp_ms or 0) + 1))
    first[18] = _Copied(18, lambda r: replace(r, headers=(("h", b"other"),)))
    first[16] = _Copied(16, lambda r: replace(r, key=b"other"))
    first[14] = _Copied(14, lambda r: replace(r, value=b"other"))
    first[11:11] = [_Copied(7), _Copied(8), _Copied(9)]
    first[6:6] = [_Copied(5)]
    del first[2]
    second.insert(16, _Copied(99))
    second.insert(12, second.pop(8))
    del second[4]
    return {0: first, 1: second}


def truth() -> list[tuple[FindingKind, int, int | None, int | None, int]]:
    """Return the faults: kind, partition, number of the record on the source and on the target, count.

    The moved record was in the first partition of the source, and is in the second one of the target.
    """
    return [
        (FindingKind.LOST, 0, 2, None, 1),
        (FindingKind.DUPLICATE, 0, 5, 5, 1),
        (FindingKind.REPLAY, 0, 7, 11, 3),
        (FindingKind.CORRUPT_VALUE, 0, 14, 17, 1),
        (FindingKind.CORRUPT_KEY, 0, 16, 19, 1),
        (FindingKind.CORRUPT_HEADER, 0, 18, 21, 1),
        (FindingKind.CORRUPT_TIMESTAMP, 0, 20, 23, 1),
        (FindingKind.LOST, 1, 4, None, 1),
        (FindingKind.REORDERED, 1, 8, 11, 1),
        (FindingKind.FOREIGN, 1, None, 15, 1),
        (FindingKind.MOVED, 0, 22, 20, 1),
    ]


def write(source: KafkaCluster, target: KafkaCluster, *, now_ms: int, replication_factor: int) -> SelfTestBatch:
    """Append a batch to both clusters.

    :param now_ms: milliseconds since the epoch
    """
    originals, copies = _drafts(now_ms)
    on_source, on_target = at_once(
        lambda: _append(source, originals, replication_factor), lambda: _append(target, copies, replication_factor)
    )
    return SelfTestBatch(_by_partition(on_source), _by_partition(on_target), _expected(on_source, on_target))


def in_memory(*, now_ms: int) -> SelfTestBatch:
    """Return a batch that is on no cluster.

    :param now_ms: milliseconds since the epoch
    """
    originals, copies = _drafts(now_ms)
    offsets = [{p: tuple(range(len(each))) for p, each in drafts.items()} for drafts in (originals, copies)]
    records: dict[FlowEnd, tuple[Record, ...]] = {"source": _as_read(originals), "target": _as_read(copies)}
    return SelfTestBatch(_by_partition(offsets[0]), _by_partition(offsets[1]), _expected(*offsets), records)


_Drafts = dict[int, list[NewRecord]]


def _drafts(now_ms: int) -> tuple[_Drafts, _Drafts]:
    """Return the records of the source and of its faulty copy, by partition."""
    nonce = secrets.token_bytes(8)
    originals = {p: [_record(p, n, nonce, now_ms) for n in range(_RECORDS)] for p in range(_PARTITIONS)}
    foreign = NewRecord(TopicPartition(TOPIC, 1), b"alien", secrets.token_bytes(16), (), now_ms)
    copies = {p: [_copy(each, originals, p, foreign) for each in draft] for p, draft in _faulty().items()}
    return originals, copies


def _as_read(drafts: _Drafts) -> tuple[Record, ...]:
    return tuple(
        Record(
            topic=TOPIC,
            partition=partition,
            offset=offset,
            timestamp_ms=each.timestamp_ms or 0,
            key=each.key,
            value=each.value,
            headers=each.headers,
        )
        for partition, records in drafts.items()
        for offset, each in enumerate(records)
    )


def _expected(on_source: dict[int, tuple[int, ...]], on_target: dict[int, tuple[int, ...]]) -> tuple[_Expected, ...]:
    return tuple(
        (kind, p, _at(on_source, p, s), _at(on_target, 1 if kind is FindingKind.MOVED else p, t), count)
        for kind, p, s, t, count in truth()
    )


def _looking_in(records: Sequence[Record]) -> PayloadOf:
    found = {
        (each.partition, each.offset): Parts.of(Payload(each.key, each.value, each.headers, each.timestamp_ms))
        for each in records
    }
    return lambda record: found[record.partition, record.offset]


def _record(partition: int, number: int, nonce: bytes, now_ms: int) -> NewRecord:
    value = nonce + bytes([partition, number])
    return NewRecord(TopicPartition(TOPIC, partition), f"k{number}".encode(), value, (("h", b"1"),), now_ms + number)


def _copy(
    wanted: _Copied, originals: Mapping[int, Sequence[NewRecord]], partition: int, foreign: NewRecord
) -> NewRecord:
    if wanted.origin >= _RECORDS:
        return foreign
    origin = partition if wanted.moved_from is None else wanted.moved_from
    return wanted.change(replace(originals[origin][wanted.origin], partition=TopicPartition(TOPIC, partition)))


def _append(
    cluster: KafkaCluster, records: dict[int, list[NewRecord]], replication_factor: int
) -> dict[int, tuple[int, ...]]:
    cluster.topics.create(TOPIC, partitions=_PARTITIONS, replication_factor=replication_factor, config=_CONFIG)
    flat = [record for each in records.values() for record in each]
    offsets = iter(cluster.writing.append(flat))
    return {partition: tuple(next(offsets) for _ in each) for partition, each in records.items()}


def _at(offsets: dict[int, tuple[int, ...]], partition: int, number: int | None) -> int | None:
    return None if number is None else offsets[partition][number]


def _by_partition(offsets: dict[int, tuple[int, ...]]) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition(TOPIC, partition): each for partition, each in offsets.items()}
