"""Translate offsets if the source can no longer be read. Pure: what is known in, an answer out.

What is known are points that correspond on both clusters, and the target's own records. Between two points the target
holds K records, and the source used S offsets for them, so S - K of the source's offsets are no records (markers,
aborted). Of the offsets between the lower point and a position at most those S - K are no records either: at least
the rest were records, and the copy holds them in the same order. Counting that many on the target is never late, and
at most S - K records early. After the last point nothing can be counted, and the last point itself is the answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.search import RangePair, consistent
from kafka_dr.positions import OffsetRange, SeedPoint

#: Offsets of the target between two points that are counted; a wider gap would take too long.
MOST_COUNTED = 50_000
_NO_END = 1 << 62


@dataclass(frozen=True, slots=True)
class KnownPoints:
    """What is known of one partition.

    :param points: lowest first, none contradicting another
    :param held: what the target holds
    :param not_counted: points below which the target may hold records that are no copies, so that records up to them
        are not counted
    :param counted_from: source offset below which the target may hold records twice, so that none are counted
    """

    points: tuple[SeedPoint, ...]
    held: OffsetRange
    not_counted: frozenset[SeedPoint] = frozenset()
    counted_from: int = 0

    @classmethod
    def of(
        cls,
        points: Iterable[SeedPoint],
        held: OffsetRange,
        *,
        not_counted: Iterable[SeedPoint] = (),
        counted_from: int = 0,
    ) -> KnownPoints:
        """Leave out what the target no longer holds, and what contradicts another point."""
        counted = set(points)
        apart = frozenset(not_counted) - counted
        usable = consistent(counted | apart, RangePair(OffsetRange(0, _NO_END), held))
        return cls(usable, held, apart, counted_from)

    def around(self, position: int) -> tuple[SeedPoint | None, SeedPoint | None]:
        """Return the nearest point at or below a position, and the nearest one above it."""
        number = bisect_right(self.points, position, key=lambda point: point.source)
        below = self.points[number - 1] if number else None
        return below, self.points[number] if number < len(self.points) else None

    def to_count(self, position: int) -> OffsetRange | None:
        """Return the range of the target whose records have to be known to translate a position between two points."""
        below, above = self.around(position)
        if below is None or above is None or above in self.not_counted or below.source == position:
            return None
        if below.source < self.counted_from:
            return None
        between = OffsetRange(below.target, above.target)
        return between if 0 < len(between) <= MOST_COUNTED else None


def translate_by_known_points(position: int, known: KnownPoints, records: Sequence[int] | None) -> Translation:
    """Translate a position; no unread record is below the answer.

    :param position: next to read on the source
    :param records: offsets of the target's records in the range that :meth:`KnownPoints.to_count` names; ``None`` if
        they were not read
    """
    below, above = known.around(position)
    if below is None:
        reason = "no offset at or below it is known on both clusters: the target is read from its start"
        again = len(known.held) if known.counted_from else min(position, len(known.held))
        return Translation(position, known.held.start, "bounded", again, reason)
    if below.source == position:
        return Translation(position, below.target, "exact", 0, "the offset is known on both clusters")
    if above is None or records is None:
        reason = f"the nearest offset below that is known on both clusters is source offset {below.source}"
        return Translation(position, below.target, "bounded", position - below.source, reason)
    spare = (above.source - below.source) - len(records)
    sure = position - below.source - spare
    if spare < 0 or sure <= 0:
        reason = f"between source offsets {below.source} and {above.source} nothing can be counted"
        return Translation(position, below.target, "bounded", position - below.source, reason)
    offset = records[sure] if sure < len(records) else above.target
    reason = f"counted on the target from source offset {below.source} on"
    return Translation(position, offset, "bounded", spare, reason)
