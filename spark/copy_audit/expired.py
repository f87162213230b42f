"""Offsets of a log that have no record: which of them may have been deleted before they were read.

Transaction markers and aborted records leave such offsets, too, and the log does not show which is which. So only
deleted offsets count as expired: those that were deleted between two audits, and those that were deleted while the log
was being read and are not among what was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from copy_audit.fingerprints import Longs, RecordLog

#: The first offset, and next after the last.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ComparedRange:
    """The offsets of one partition on one cluster that are compared.

    :param start: next to read when comparing begins
    :param end: next to read when it ends
    :param expired: offsets in between that were deleted before they were read
    :param first_kept: the first offset that the log held when it was read for the first time
    :param vanished: what was deleted while it was being read: records that are in the log were read in time
    """

    start: int
    end: int
    expired: tuple[Span, ...] = ()
    first_kept: int = 0
    vanished: Span = (0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class ExpiredOffsets:
    """The offsets of one partition on one cluster that were deleted before they could be read.

    :param first: whether nothing of it was compared before
    :param quarantined: offsets that were left out of the log on purpose
    """

    log: RecordLog
    stretch: ComparedRange
    first: bool
    quarantined: tuple[Span, ...] = ()

    @property
    def headless(self) -> bool:
        """Whether the log's first records were deleted before they could be read for the first time."""
        start, end = self.stretch.vanished
        begins_later = start < end and (not len(self.log) or int(self.log.offsets[0]) > start)
        return self.first and (self.stretch.first_kept > 0 or begins_later)

    @property
    def holes(self) -> tuple[Span, ...]:
        """What was deleted before reading began; of a first audit, that includes everything before its first record."""
        before = ((0, self.stretch.first_kept),) if self.first and self.stretch.first_kept else ()
        return (*before, *self.stretch.expired)

    def between(self, start: int, end: int) -> int:
        """Count the offsets of a range that were deleted unread, without those that are quarantined."""
        expired = sum(_overlap(hole, (start, end)) for hole in self.holes)
        return expired + self.vanished_between(start, end)

    def vanished_between(self, start: int, end: int) -> int:
        """Count those of them that were deleted while the log was being read."""
        span = max(start, self.stretch.vanished[0]), min(end, self.stretch.vanished[1])
        if span[0] >= span[1]:
            return 0
        first, after = self.log.index_of(span)
        return span[1] - span[0] - int(after - first) - sum(_overlap(each, span) for each in self.quarantined)

    def gaps(self, starts: Longs, lengths: Longs) -> frozenset[int]:
        """Return the gaps between blocks in which something was deleted unread; -1 means inside of a block.

        :param starts: the first index of each block on this cluster
        """
        offsets = np.array([start for start, _ in self.stretch.expired] + list(self._vanished_from()), np.int64)
        indexes = self.log.index_of(offsets)
        gaps = np.searchsorted(starts, indexes)
        ends = np.concatenate(([0], starts + lengths))
        return frozenset(np.where(indexes >= ends[gaps], gaps, -1).tolist())

    def _vanished_from(self) -> Iterator[int]:
        start, end = self.stretch.vanished
        if start < end:
            indexes = self.log.index_of((start, end))
            heads = self.log.breaks(*indexes.tolist())
            # Of no record, the log has neither a first nor a last one.
            first, last = (indexes[:1], indexes[1:] - 1) if indexes[0] < indexes[1] else (indexes[:0], indexes[:0])
            begins = np.concatenate(([start], self.log.offsets[np.concatenate((heads - 1, last))] + 1))
            ends = np.concatenate((self.log.offsets[np.concatenate((first, heads))], [end]))
            yield from begins[begins < ends].tolist()


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))
