"""Positions carried to the target when the source can no longer be read. Pure: what is known in, a place out.

What is known are places that lie on both sides (*pairs*), and the target's own records. Between two pairs the target
holds K records, and the source used S offsets for them, so S - K of the source's offsets are no records (markers,
aborted). Of the offsets between the lower pair and a position at most those S - K are no records either: at least
the rest were records, and the copy holds them in the same order. Counting that many on the target is never late, and
at most S - K records early. Beyond the last pair nothing can be counted, and the last pair itself is the answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import Bounds, consistent
from kafka_dr.positions import OffsetRange

#: Offsets of the target between two pairs that are counted; a wider gap would take too long.
MOST_COUNTED = 50_000
_NO_END = 1 << 62


@dataclass(frozen=True, slots=True)
class Pair:
    """A place that is the same on both sides: every record below it on the one lies below it on the other.

    Both offsets are next to read.

    :param closes: whether nothing but copies lies before it on the target, so that records up to it may be counted
    """

    source: int
    target: int
    closes: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one partition.

    :param pairs: lowest first, none contradicting another
    :param held: what the target holds
    """

    pairs: tuple[Pair, ...]
    held: OffsetRange

    @classmethod
    def of(cls, pairs: Iterable[Pair], held: OffsetRange) -> Known:
        """Leave out what the target no longer holds, and what contradicts something else."""
        closing = {(pair.source, pair.target): pair.closes for pair in pairs}
        anchors = (Anchor(source, target, "position") for source, target in closing)
        usable = consistent(anchors, Bounds(OffsetRange(0, _NO_END), held))
        return cls(tuple(Pair(a.source, a.target, closing[a.source, a.target]) for a in usable), held)

    def around(self, position: int) -> tuple[Pair | None, Pair | None]:
        """Return the nearest pair at or below a position, and the nearest one above it."""
        number = bisect_right(self.pairs, position, key=lambda pair: pair.source)
        below = self.pairs[number - 1] if number else None
        return below, self.pairs[number] if number < len(self.pairs) else None

    def to_count(self, position: int) -> OffsetRange | None:
        """Return the stretch of the target whose records have to be known to place a position between two pairs."""
        below, above = self.around(position)
        if below is None or above is None or not above.closes or below.source == position:
            return None
        stretch = OffsetRange(below.target, above.target)
        return stretch if 0 < len(stretch) <= MOST_COUNTED else None


def place(position: int, known: Known, records: Sequence[int] | None) -> Translation:
    """Return the place of a position on the target; nothing unread lies below it.

    :param position: next to read on the source
    :param records: offsets of the target's records in the stretch that :meth:`Known.to_count` names; ``None`` where
        they were not read
    """
    below, above = known.around(position)
    if below is None:
        reason = "no place at or below it is known on both sides: the target is read from its start"
        return Translation(position, known.held.start, "bounded", len(known.held), reason)
    if below.source == position:
        return Translation(position, below.target, "exact", 0, "the place is known on both sides")
    if above is None or records is None:
        reason = f"the nearest place below that is known on both sides is source offset {below.source}"
        return Translation(position, below.target, "bounded", position - below.source, reason)
    spare = (above.source - below.source) - len(records)
    sure = position - below.source - spare
    if spare < 0 or sure <= 0:
        reason = f"between source offsets {below.source} and {above.source} nothing can be counted"
        return Translation(position, below.target, "bounded", position - below.source, reason)
    offset = records[sure] if sure < len(records) else above.target
    reason = f"counted on the target from source offset {below.source} on"
    return Translation(position, offset, "bounded", spare, reason)
