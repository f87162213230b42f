"""The part of a copy that another replication made before this project's flow took over. Pure.

That replication may have copied records twice, or in another order, so what is usually near an offset proves little: an
offset sync may point to a second copy after which only some of the records come again. So below the point where this
project's flow began, an offset is found from pairs alone that the comparison of both whole logs has aligned. The
aligned copies rise on both clusters: resuming at one of them skips no later record that has such a copy. Records that
have none, because they were copied in another order, are known by their ranges: no answer is after an unread one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.positions import OffsetRange, SeedPoint


@dataclass(frozen=True, slots=True)
class DisplacedRange:
    """Records that are in another order on the target: their offsets on the source, and those of their copies."""

    source: OffsetRange
    target: OffsetRange

    @property
    def reversed(self) -> DisplacedRange:
        """The same, seen in the other direction of replication."""
        return DisplacedRange(self.target, self.source)


@dataclass(frozen=True, slots=True)
class TakenOverCopy:
    """What is known of one partition of such a copy.

    :param until: where this project's flow began: every record below it on the source has its copies below it on the
        target, and the other way round
    :param pairs: points that correspond, rising
    :param displaced: records that were copied in another order
    """

    until: SeedPoint
    pairs: tuple[SeedPoint, ...] = ()
    displaced: tuple[DisplacedRange, ...] = ()

    @property
    def reversed(self) -> TakenOverCopy:
        """The same, seen in the other direction of replication."""
        return TakenOverCopy(
            self.until.reversed,
            tuple(pair.reversed for pair in self.pairs),
            tuple(each.reversed for each in self.displaced),
        )

    @property
    def certain(self) -> frozenset[SeedPoint]:
        """The points that content need not confirm."""
        return frozenset((self.until, *self.pairs))

    def covers(self, position: int) -> bool:
        """Return whether an offset of the source is in this part of the copy."""
        return position <= self.until.source

    def usable(self, anchors: Iterable[Anchor]) -> list[Anchor]:
        """Return what may be used as an anchor: nothing in this part of the copy but its own points."""
        return [*self.pairs, self.until, *(each for each in anchors if each.source > self.until.source)]

    def not_late(self, answer: Translation) -> Translation:
        """Return an answer that is after no unread record which was copied in another order."""
        position, offset = answer.source_offset, answer.target_offset
        if offset is None or not self.covers(position):
            return answer
        unread = [each for each in self.displaced if position < each.source.end and each.target.start < offset]
        if not unread:
            return answer
        first = min(each.target.start for each in unread)
        again = None if answer.redelivered_at_most is None else answer.redelivered_at_most + offset - first
        reason = f"{answer.reason}; unread records were copied in another order, from {first} on"
        kind = "bounded" if answer.kind == "exact" else answer.kind
        return replace(answer, target_offset=first, kind=kind, redelivered_at_most=again, reason=reason)
