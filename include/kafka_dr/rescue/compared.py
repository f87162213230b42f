"""Compares the kept records with what the old cluster still holds, before that is deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.erasure import Erasure
from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import KafkaCluster, OffsetRange, Record, TopicPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.kept import KeptRecord, read_partition


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing found.

    :param equal: records that are kept as the old cluster holds them
    :param expired: records that are kept, and that the old cluster no longer holds: nothing of them is deleted
    :param erased: records whose content somebody had erased, and of which the old cluster confirms that they are those
    :param wrong: the first record that is not kept as the old cluster holds it; empty if there is none
    """

    equal: int = 0
    expired: int = 0
    wrong: str = ""
    erased: int = 0

    def __add__(self, other: Compared) -> Compared:
        """Return the sum; what is wrong with either is wrong."""
        wrong = self.wrong or other.wrong
        return Compared(self.equal + other.equal, self.expired + other.expired, wrong, self.erased + other.erased)


def compare_with(
    old: KafkaCluster,
    found: StrandedList,
    folder: Any,
    *,
    topics: Collection[str],
    erasures: Sequence[Erasure] = (),
    keys: ContentKeys | None = None,
) -> Compared:
    """Compare every record of some topics that is kept with the one at its offset: key, value, headers and time.

    :param old: the old cluster, reached as audit
    :param folder: the folder of the list
    :param topics: those that are about to be deleted, and that the list was made of
    :param erasures: those that a register knows; a record is erased only if one of them is about it
    :param keys: of the content, where the topology names any
    :raises NeedsPerson: what is kept cannot be read
    :raises KafkaDrError: the old cluster cannot be read
    """
    total = Compared()
    for each in found.partitions:
        if each.topic not in topics or not each.records:
            continue
        kept = read_partition(found, folder, topic=each.topic, partition=each.partition, keys=keys)
        compared = _compare(old, found, kept, each, erasures)
        if compared.wrong:
            return compared
        total += compared
    return total


def _compare(
    old: KafkaCluster,
    found: StrandedList,
    kept: Iterator[KeptRecord],
    each: StrandedPartition,
    erasures: Sequence[Erasure],
) -> Compared:
    partition = TopicPartition(each.topic, each.partition)
    (begin,) = old.topics.log_starts([partition]).values()
    stretch = OffsetRange(max(begin, each.ranges[0][0]), max(begin, each.ranges[-1][1]))
    following, equal, expired, erased = next(kept, None), 0, 0, 0
    for record in _within(each, old.log.read({partition: stretch})):
        while following is not None and following.offset < record.offset:
            following, expired = _after(kept, following), expired + 1
        if following is None or following.offset != record.offset:
            return Compared(wrong=f"{partition} at offset {record.offset} is on {found.old} and is not kept")
        if wrong := _difference(following, record, found, erasures):
            return Compared(wrong=f"{partition} at offset {record.offset} {wrong}")
        equal, erased = equal + (not following.erased), erased + following.erased
        following = _after(kept, following)
    while following is not None:
        following, expired = _after(kept, following), expired + 1
    return Compared(equal, expired, erased=erased)


def _difference(kept: KeptRecord, record: Record, found: StrandedList, erasures: Sequence[Erasure]) -> str:
    """Return how what is kept differs from the old cluster's record; empty if it does not."""
    if kept.erased:
        known = any(each.covers(found.run, record.topic, record.key) for each in erasures)
        return "" if known else "is marked as erased, and no register knows of an erasure of it"
    return "" if _content(kept) == _content(record) else f"is kept differently from what {found.old} holds"


def _after(kept: Iterator[KeptRecord], last: KeptRecord) -> KeptRecord | None:
    """Return the next record that is kept; each is kept once, in order."""
    following = next(kept, None)
    if following is not None and following.offset <= last.offset:
        where = f"{last.topic}-{last.partition}"
        raise NeedsPerson(
            f"offset {following.offset} of {where} is kept twice, or out of order: restore the list from a copy"
        )
    return following


def _within(each: StrandedPartition, records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records that are stranded; those between the ranges were copied."""
    ranges = iter(each.ranges)
    first, after = next(ranges)
    for record in records:
        while record.offset >= after:
            first, after = next(ranges)
        if record.offset >= first:
            yield record


def _content(record: KeptRecord | Record) -> tuple[object, ...]:
    # A record without a time is stamped differently by each client; none of them is after 1970.
    return (max(record.timestamp_ms, 0), record.key, record.value, tuple(record.headers))
