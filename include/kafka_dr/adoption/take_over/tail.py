"""The tail of a copy: what the existing replication has copied since it was compared the last time. Pure.

The replication may be at-least-once, so its own positions do not say how far the copy reaches: content does. The flow
of this project begins after the last record of the source that has a copy. Every record below that has to have one, and
every record of the target has to be one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_dr.audit.corruption import Parts
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.observation.comparison import PartitionComparison
from kafka_dr.observation.meaning import counted_as
from kafka_dr.positions import SeedPoint, TopicPartition

#: Differences that are no fault of the copy: compaction has removed the counterpart.
_HARMLESS = ("compacted",)
#: Kinds that say why a comparison of two whole logs cannot know; of a tail everything is known that could explain them.
_SAID = dict.fromkeys(("not_read", "expired_on_source", "expired_on_target", "unexplained"), "unexplained")


@dataclass(frozen=True, slots=True)
class TailFault:
    """Records of a tail that are not as they have to be.

    :param kind: as what they are counted: ``lost``, ``duplicated``, ``foreign`` and so on
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


def judged(found: PartitionComparison, begin: SeedPoint, before: Collection[Parts] = frozenset()) -> PartitionTail:
    """Judge the tail of one partition.

    :param found: the comparison of everything from ``begin`` on, on both clusters
    :param before: records of the source below ``begin``: a second copy of one of them is a duplicate, and not foreign
    """
    copied = [offset for offset, copies in found.copies.items() if copies]
    until = max(copied) + 1 if copied else begin.source
    faults = [
        _fault(each, found, before)
        for each in found.differences
        if counted_as(each) not in _HARMLESS and not _may_still_come(each, until)
    ]
    return PartitionTail(SeedPoint(until, found.target.read.end), found.equal, tuple(faults))


def unexplained(found: PartitionComparison) -> bool:
    """Return whether the target has records that are no copies of what was read of the source."""
    return any(each.source_offset is None and each.kind is not FindingKind.DUPLICATE for each in found.differences)


def _may_still_come(each: Difference, until: int) -> bool:
    return each.target_offset is None and each.source_offset is not None and each.source_offset >= until


def _fault(each: Difference, found: PartitionComparison, before: Collection[Parts]) -> TailFault:
    kind = counted_as(each)
    if each.source_offset is None and each.target_offset is not None and before:
        after = each.target_offset
        records = [record for record in found.target.records if record.offset >= after][: each.count]
        if all(record.parts in before for record in records):
            kind = "duplicated"
    return TailFault(_SAID.get(kind, kind), found.partition, each.source_offset, each.target_offset, each.count)


def unapproved(tails: Mapping[TopicPartition, PartitionTail], *, duplicates_pass: bool) -> tuple[TailFault, ...]:
    """Return the faults of the tails that nobody has approved.

    :param duplicates_pass: whether the topology says that records which were copied twice are only reported
    """
    return tuple(
        fault
        for _, tail in sorted(tails.items())
        for fault in tail.faults
        if not (duplicates_pass and fault.kind == "duplicated")
    )
