"""Which part of the tail of a copy is compared next. Pure.

A tail may hold more records than fit into memory, and more are copied while it is compared. So each partition advances
part by part. A part without any copy is read again with more records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

#: Offsets that are read at once, on both clusters together; of one partition at most half of them on each.
MOST_OFFSETS = 500_000
#: Offsets of the target that are in a part at first.
_OFFSETS = 20_000
#: How many more offsets of the source are in it: each transaction takes one for its marker.
_MORE_ON_SOURCE = 1_000
#: By how much a part grows in which no copy was found.
GROWTH = 4


@dataclass(frozen=True, slots=True)
class HeldTail:
    """What both clusters hold of a partition.

    :param source: what readers of committed records see
    :param target: what they see of the copy
    :param written: the high watermark of the source, asked after the end of the target: what the target has a copy of
        is below it
    """

    source: OffsetRange
    target: OffsetRange
    written: int

    @property
    def stable(self) -> int:
        """Up to where it is decided on the source which records are committed."""
        return self.source.end


@dataclass(frozen=True, slots=True)
class TailPart:
    """What is read of a partition.

    :param complete: whether nothing that is not in it can say what a record of the target is a copy of
    :param waits: whether only what is not decided yet on the source could say that of its last records
    :param grows: whether a larger part would have more
    """

    source: OffsetRange
    target: OffsetRange
    complete: bool
    waits: bool
    grows: bool

    @property
    def offsets(self) -> int:
        """How many are read."""
        return len(self.source) + len(self.target)


def part_from(point: SeedPoint, held: HeldTail, *, decided: bool, size: int) -> TailPart:
    """Return the next part of a partition.

    :param point: up to where both logs are compared
    :param decided: whether no record that the target may have a copy of belongs to an open transaction of the source
    :param size: 1 at first, and larger for a part that has grown
    """
    most = MOST_OFFSETS // 2
    target, all_of_target = _from(point.target, held.target, min(most, _OFFSETS * size))
    source, all_of_source = _from(point.source, held.source, min(most, (len(target) + _MORE_ON_SOURCE) * size))
    grows = any(not whole and len(part) < most for part, whole in ((source, all_of_source), (target, all_of_target)))
    complete = all_of_source and all_of_target and decided
    return TailPart(source, target, complete, waits=all_of_source and not decided, grows=grows)


def batch_of(parts: Mapping[TopicPartition, TailPart], left: Mapping[TopicPartition, int]) -> list[TopicPartition]:
    """Return the partitions that are read at once: first those of which most is left."""
    return list(_fitting((p, parts[p]) for p in sorted(parts, key=lambda p: (-left[p], p))))


def _fitting(parts: Iterable[tuple[TopicPartition, TailPart]]) -> Iterator[TopicPartition]:
    room = MOST_OFFSETS
    for partition, part in parts:
        if part.offsets > room and room < MOST_OFFSETS:
            return
        room -= part.offsets
        yield partition


def _from(start: int, held: OffsetRange, most: int) -> tuple[OffsetRange, bool]:
    """Return at most so many offsets, and whether they are all that is held from there on."""
    begin = max(start, held.start)
    end = max(begin, held.end)
    return OffsetRange(begin, min(end, begin + most)), begin + most >= end
