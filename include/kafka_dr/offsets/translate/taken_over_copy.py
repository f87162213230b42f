"""The part of a copy that another replication made before this project's flow took over. Pure.

That replication may have copied records twice, or in another order, so what is usually near an offset proves little: an
offset sync may point to a second copy after which only some of the records come again. So below the point where this
project's flow began, an offset is found from pairs alone that the comparison of both whole logs has aligned. The
aligned copies rise on both clusters: resuming at one of them skips no later record that has such a copy. Records that
have none, because they were copied in another order, are known by their ranges: no answer is after an unread one.

What a group reads there once more is counted with its answer: second copies, also of records that it has not read yet,
and copies in another order of records that it has read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from kafka_dr.counted import counted
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.positions import CountedRange, OffsetRange, SeedPoint

_START = SeedPoint(0, 0)
#: An answer, or the answer for a group.
T = TypeVar("T", bound=Translation)


@dataclass(frozen=True, slots=True)
class DisplacedRange:
    """Records that are in another order on the target: their offsets on the source, and those of their copies."""

    source: OffsetRange
    target: OffsetRange

    @property
    def reversed(self) -> DisplacedRange:
        """The same, seen in the other direction of replication."""
        return DisplacedRange(self.target, self.source)

    def read_again(self, position: int, offset: int) -> int:
        """Return how many of the records a group has read that it reads again, at most.

        :param position: next to read on the source
        :param offset: where it resumes on the target
        """
        read = min(position, self.source.end) - self.source.start
        return max(0, min(read, self.target.end - max(offset, self.target.start)))


@dataclass(frozen=True, slots=True)
class TakenOverCopy:
    """What is known of one partition of such a copy.

    :param until: where this project's flow began: every record below it on the source has its copies below it on the
        target, and the other way round
    :param pairs: points that correspond, rising
    :param displaced: records that were copied in another order
    :param second_copies: ranges of the target with records that it holds a second time
    """

    until: SeedPoint
    pairs: tuple[SeedPoint, ...] = ()
    displaced: tuple[DisplacedRange, ...] = ()
    second_copies: tuple[CountedRange, ...] = ()

    @property
    def reversed(self) -> TakenOverCopy:
        """The same, seen in the other direction of replication: only the copy has second copies."""
        return TakenOverCopy(
            self.until.reversed,
            tuple(pair.reversed for pair in self.pairs),
            tuple(each.reversed for each in self.displaced),
        )

    @property
    def certain(self) -> frozenset[SeedPoint]:
        """The points that content need not confirm."""
        return frozenset((self.until, *self.pairs))

    def repeats_after(self, offset: int | None) -> bool:
        """Return whether a group that resumes at an offset of the target may read records of this part twice."""
        return offset is not None and offset < self.until.target and bool(self.second_copies or self.displaced)

    def covers(self, position: int) -> bool:
        """Return whether an offset of the source is in this part of the copy."""
        return position <= self.until.source

    def usable(self, anchors: Iterable[Anchor]) -> list[Anchor]:
        """Return what may be used as an anchor: nothing in this part of the copy but its own points."""
        return [*self.pairs, self.until, *(each for each in anchors if each.source > self.until.source)]

    def not_late(self, answer: T) -> T:
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

    def counted(self, answer: T, end: int) -> T:
        """Return an answer that also counts what the target holds twice, or in another order, from there on.

        :param end: of the target's log: no more than what is below it can be read again
        """
        offset, known = answer.target_offset, answer.redelivered_at_most
        if offset is None or known is None:
            return answer
        position, exact = answer.source_offset, answer.kind == "exact"
        aligned = [each for each in self.certain if each.source <= position and each.target <= offset]
        below = max(aligned, default=_START)
        # Of several copies the audit aligned one. If the answer follows another one, the aligned one comes again.
        begin, read = (below.target, 0) if exact else (offset, position - below.source)
        twice = sum(each.from_on(begin) for each in self.second_copies)
        moved = sum(each.read_again(position, begin) for each in self.displaced)
        early = not exact and any(position < each.source.end and begin < each.target.end for each in self.displaced)
        again = max(0, min(max(known, read + twice + moved), end - offset))
        if not again or not (twice + moved or early):
            return answer
        holds = f"the copy that was taken over holds at most {counted(twice, 'record')} a second time from there on"
        said = [holds] if twice else []
        many = counted(moved, "was", "were")
        said += [f"of the records that it has read at most {many} copied in another order"] * bool(moved)
        said += ["unread records were copied before some that it has read"] * early
        return replace(
            answer,
            kind="bounded" if exact else answer.kind,
            redelivered_at_most=again,
            reason="; ".join((answer.reason, *said)),
            second_copies=min(twice, again),
        )
