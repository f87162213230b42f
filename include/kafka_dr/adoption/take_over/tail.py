"""The tail of a copy: what the existing replication has copied since it was compared the last time. Pure.

The replication may be at-least-once, so its own positions do not say how far the copy reaches: content does. The flow
of this project begins after the last record of the source that has a copy. Every record below that has to have one, and
every record of the target has to be one.

It may also read what is not committed, as MirrorMaker does unless it is set otherwise. While a transaction is open on
the source, what follows the last copy on the target may be copies of its records: that is judged when it has ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from kafka_dr.audit.alignment import Block, aligned
from kafka_dr.audit.compaction import Living, none_living
from kafka_dr.audit.copies import are_timeless
from kafka_dr.audit.corruption import Parts
from kafka_dr.audit.counted_ranges import gathered
from kafka_dr.audit.difference import Difference
from kafka_dr.observation.comparison import PartitionComparison, compare
from kafka_dr.observation.meaning import Circumstances, counted_as
from kafka_dr.observation.records import NumberedPair, ReadLog, SeenRecord
from kafka_dr.positions import CountedRange, OffsetRange, SeedPoint, TopicPartition

#: Differences that are no fault of the copy: compaction has removed the counterpart.
_HARMLESS = ("compacted",)
_DUPLICATED = "duplicated"
#: Kinds that say why a comparison of two whole logs cannot know; of a tail everything is known that could explain them.
_SAID = dict.fromkeys(("not_read", "expired_on_source", "expired_on_target", "unexplained"), "unexplained")


@dataclass(frozen=True, slots=True)
class TailFault:
    """Records of a tail that are not as they have to be.

    :param kind: as what they are counted: ``lost``, ``duplicated``, ``foreign``, ``aborted`` and so on
    :param source_offset: of the first one on the source; ``None`` if the source has none
    :param target_offset: of the first one on the target; ``None`` if the target has none
    """

    kind: str
    partition: TopicPartition
    source_offset: int | None
    target_offset: int | None
    count: int

    def __str__(self) -> str:
        offsets = ((("source", self.source_offset)), ("target", self.target_offset))
        where = ", ".join(f"{cluster} offset {offset}" for cluster, offset in offsets if offset is not None)
        return f"{self.count} {self.kind} in {self.partition} from {where} on"


@dataclass(frozen=True, slots=True)
class PartitionTail:
    """What was found in the tail of one partition.

    :param point: up to where both logs are compared now: next after the last record with a copy, and next after what
        was read of the target
    :param records: how many records of the tail are equal
    :param faults: what is not as it has to be
    """

    point: SeedPoint
    records: int
    faults: tuple[TailFault, ...] = ()

    @property
    def explained(self) -> bool:
        """Whether it is known of every record of the target what it is a copy of."""
        return not any(fault.kind in ("foreign", "unexplained") for fault in self.faults)

    @property
    def second_copies(self) -> tuple[CountedRange, ...]:
        """Where the target holds records a second time; of each only the first offset is known."""
        return gathered(
            CountedRange(each.target_offset, self.point.target, each.count)
            for each in self.faults
            if each.kind == _DUPLICATED and each.target_offset is not None
        )


@dataclass(frozen=True, slots=True)
class OtherRecords:
    """Records of the source that a record of the target may be a copy of, other than the committed ones of the tail.

    :param before: committed records right before the tail: a second copy of one of them is a duplicate, and not foreign
    :param aborted: records whose transactions were aborted, of the tail and from right before it
    """

    before: Collection[Parts] = field(default=frozenset(), repr=False)
    aborted: Collection[Parts] = field(default=frozenset(), repr=False)


NO_OTHERS = OtherRecords()


def up_to_last_copy(source: ReadLog, target: ReadLog) -> tuple[ReadLog, ReadLog]:
    """Return what was read of both clusters, up to the last record of the target that is a copy, and its original.

    What follows on the target may be copies of what was not read of the source: it comes later there, or is not
    committed. If no record follows on the target, all of it is returned.
    """
    blocks = _blocks(source, target)
    last = blocks[-1] if blocks else Block(0, 0, 0)
    after = last.target + last.length
    return _first(source, last.source + last.length), target if after == len(target.records) else _first(target, after)


def _first(log: ReadLog, count: int) -> ReadLog:
    """Return the first records of a log, and nothing that follows them."""
    end = log.records[count - 1].offset + 1 if count else log.read.start
    return replace(log, records=log.records[:count], read=OffsetRange(log.read.start, end))


def strangers(source: ReadLog, target: ReadLog) -> list[SeenRecord]:
    """Return the records of the target that are not copies, in order, of what was read of the source."""
    found: list[SeenRecord] = []
    begin = 0
    for block in (*_blocks(source, target), Block(0, len(target.records), 0)):
        found += target.records[begin : block.target]
        begin = block.target + block.length
    return found


def judged(
    partition: TopicPartition,
    source: ReadLog,
    target: ReadLog,
    begin: SeedPoint,
    others: OtherRecords = NO_OTHERS,
    *,
    compacted: bool = False,
    living: Living = none_living,
) -> PartitionTail:
    """Judge the tail of one partition, or a part of it: everything that was read of the target.

    :param source: the committed records from ``begin`` on
    :param target: the records from ``begin`` on
    :param begin: up to where both logs were judged before
    :param compacted: whether either cluster compacts the topic
    :param living: looks for values of keys before what was read
    """
    timeless = are_timeless(source.records, target.records)
    before, void = (_comparable(each, timeless=timeless) for each in (others.before, others.aborted))
    # They are taken out first: they would look like changed copies of a record that is not copied yet.
    aborted = [r for r in strangers(source, target) if _parts(r, timeless=timeless) in void] if void else []
    offsets = {record.offset for record in aborted}
    rest = replace(target, records=[record for record in target.records if record.offset not in offsets])
    known = Circumstances(late_before=0, compacted=compacted, settled=(begin.source, begin.target), living=living)
    found = compare(partition, source, rest, known)
    copied = [offset for offset, copies in found.copies.items() if copies]
    until = max(copied) + 1 if copied else begin.source
    faults = [
        _fault(each, found, before, timeless=timeless)
        for each in found.differences
        if counted_as(each) not in _HARMLESS and not _may_still_come(each, until)
    ]
    return PartitionTail(
        SeedPoint(until, target.read.end), found.equal, (*faults, *_aborted_faults(partition, aborted))
    )


def _blocks(source: ReadLog, target: ReadLog) -> list[Block]:
    return list(aligned(NumberedPair(source, target)))


def _parts(record: SeenRecord, *, timeless: bool) -> Parts:
    return record.parts._replace(timestamp=None) if timeless else record.parts


def _comparable(found: Collection[Parts], *, timeless: bool) -> Collection[Parts]:
    return {parts._replace(timestamp=None) for parts in found} if timeless else found


def _may_still_come(each: Difference, until: int) -> bool:
    return each.target_offset is None and each.source_offset is not None and each.source_offset >= until


def _fault(each: Difference, found: PartitionComparison, before: Collection[Parts], *, timeless: bool) -> TailFault:
    kind = counted_as(each)
    if each.source_offset is None and each.target_offset is not None and before:
        first = bisect_left(found.target.records, each.target_offset, key=lambda record: record.offset)
        records = found.target.records[first : first + each.count]
        if all(_parts(record, timeless=timeless) in before for record in records):
            kind = _DUPLICATED
    return TailFault(_SAID.get(kind, kind), found.partition, each.source_offset, each.target_offset, each.count)


def _aborted_faults(partition: TopicPartition, records: Sequence[SeenRecord]) -> Iterator[TailFault]:
    for _, run in groupby(enumerate(records), key=lambda numbered: numbered[1].offset - numbered[0]):
        offsets = [record.offset for _, record in run]
        yield TailFault("aborted", partition, None, offsets[0], len(offsets))


def unapproved(
    tails: Mapping[TopicPartition, PartitionTail], *, duplicates_pass: bool, aborted_pass: bool
) -> tuple[TailFault, ...]:
    """Return the faults of the tails that nobody has approved.

    :param duplicates_pass: whether the topology says that records which were copied twice are only reported
    :param aborted_pass: whether the approver has seen that this replication copies records of aborted transactions
    """
    passing = {kind for kind, passes in ((_DUPLICATED, duplicates_pass), ("aborted", aborted_pass)) if passes}
    return tuple(fault for _, tail in sorted(tails.items()) for fault in tail.faults if fault.kind not in passing)
