"""Matching two logs record by record, from an anchor on. Pure: sequences in, numbers out.

Why matching in lock step is never late: from a true anchor on, a target that holds the source's records in order holds
the n-th of them at the n-th offset or later. So equal content in lock step never gets ahead of the truth, whatever is
between two records, and it stops at the first record that differs.

Without an anchor, a record near the position that occurs exactly once in either log is one. Why such a pair is never
late: copies keep the order of their originals. If the one record on the target were no copy of the one on the source,
its own original would have expired there, so it is older, and its copy is before the copy of the other one. At worst
such a pair makes records come again. If pairs near each other contradict that order, none of them is used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from kafka_dr.audit.copies import Entry
from kafka_dr.positions import OffsetPair, OffsetRange, SeedPoint

#: Offsets of a log that are read to find a record that occurs once. A longer log is not read for it.
MOST_READ = 200_000
#: What is believed to correspond: a record and its copy, or a point that is next to read on both clusters.
Anchor: TypeAlias = OffsetPair | SeedPoint


@dataclass(frozen=True, slots=True)
class Alignment:
    """How many of the source's records were found on the target, one by one.

    :param confirmed: the anchor is right: content says so, in a way that does not fit elsewhere in what was read
    :param complete: every record between anchor and position was matched
    :param starved: no record differs, but what was read of the target ended before what was read of the source
    :param reached: after the last matched record; the anchor if no record was matched
    """

    confirmed: bool
    complete: bool
    starved: bool
    reached: SeedPoint


_REJECTED = Alignment(confirmed=False, complete=False, starved=False, reached=SeedPoint(-1, -1))


def align(
    source: Sequence[Entry], target: Sequence[Entry], *, anchor: Anchor, position: int, trusted: bool = False
) -> Alignment:
    """Match records in lock step from an anchor up to a position on the source.

    Both sequences may begin before the anchor and end after the position. Records there help to decide whether the
    anchor is right, and are not counted.

    :param position: next to read, on the source
    :param trusted: the anchor follows from what was matched before, or both logs begin at it. Content has to confirm
        all others: a record near them must occur nowhere else near them
    """
    start, target_start = bisect_left(source, (anchor.source,)), bisect_left(target, (anchor.target,))
    if isinstance(anchor, OffsetPair) and not (
        start < len(source)
        and source[start].offset == anchor.source
        and target_start < len(target)
        and target[target_start].offset == anchor.target
    ):
        return _REJECTED
    forward = equal_records(source, target, start, target_start, step=1)
    backward = equal_records(source, target, start - 1, target_start - 1, step=-1)
    wanted = max(0, bisect_left(source, (position,)) - start)
    matched = min(forward, wanted)
    return Alignment(
        confirmed=trusted or is_distinct(source, target, range(start - backward, start + forward)),
        complete=matched == wanted,
        starved=start + forward < len(source) and target_start + forward == len(target),
        reached=SeedPoint(
            source[start + matched - 1].offset + 1 if matched else anchor.source,
            target[target_start + matched - 1].offset + 1 if matched else anchor.target,
        ),
    )


def equal_records(
    source: Sequence[Entry], target: Sequence[Entry], at: int, target_at: int, *, step: Literal[1, -1]
) -> int:
    """Return how many records are equal, one by one.

    :param at: index of the first record that is compared, in what was read of the source
    :param target_at: the same, in what was read of the target
    :param step: 1 compares towards the end, -1 towards the start
    """
    count = 0
    while 0 <= at < len(source) and 0 <= target_at < len(target) and source[at].content == target[target_at].content:
        at, target_at, count = at + step, target_at + step, count + 1
    return count


def is_distinct(source: Sequence[Entry], target: Sequence[Entry], matched: range) -> bool:
    """Return whether one of the matched records occurs nowhere else in what was read, on either cluster.

    :param matched: indexes in what was read of the source
    """
    on_source = Counter(entry.content for entry in source)
    on_target = Counter(entry.content for entry in target)
    return any(on_source[source[at].content] == 1 == on_target[source[at].content] for at in matched)


class UniqueRecords:
    """Finds a record near a position that occurs once in either log. Both logs are read for it: up to the next offset
    pair that is known after the position (where offset syncs are written, one is never far), else to their ends.

    :param source: what the source holds
    :param target: what the target holds
    :param position: next to read on the source
    :param above: a pair at or after the position that is believed to be one record and its copy; content has to confirm
    :param around: how many offsets before and after the position are looked at for such a record
    :param stride: offsets of each log that are read at once
    """

    def __init__(
        self,
        source: OffsetRange,
        target: OffsetRange,
        *,
        position: int,
        above: OffsetPair | None,
        around: int,
        stride: int,
    ) -> None:
        self._above = above
        self._at_above: tuple[Entry | None, Entry | None] = (None, None)
        if above is not None:
            source, target = OffsetRange(source.start, above.source + 1), OffsetRange(target.start, above.target + 1)
        self._source, self._target = source, target
        self._position, self._stride = position, stride
        low = min(max(source.start, position - around), source.end)
        self._near = OffsetRange(low, max(low, min(source.end, position + around)))
        self._wanted: Sequence[Entry] | None = None
        self._read = 0
        self._stamped = False
        #: By content of a wanted record, with and without its time: its offsets on source and target, two at most.
        self._offsets: dict[bytes, tuple[list[int], list[int]]] = {}

    @property
    def is_short_enough(self) -> bool:
        """Whether both logs hold something, and are short enough to be read."""
        return 0 < len(self._source) <= MOST_READ and 0 < len(self._target) <= MOST_READ

    def window(self) -> tuple[OffsetRange, OffsetRange]:
        """Return what to read of both logs next."""
        if self._wanted is None:
            return self._near, OffsetRange(self._target.start, self._target.start)
        source, target = (
            OffsetRange(min(held.end, held.start + self._read), min(held.end, held.start + self._read + self._stride))
            for held in (self._source, self._target)
        )
        return source, target

    def look(self, source: Sequence[Entry], target: Sequence[Entry]) -> bool:
        """Take in the records of both windows, and return whether there is more to read."""
        self._stamped = self._stamped or any(entry.stamped for entry in (*source, *target))
        if self._wanted is None:
            self._wanted = source
            self._offsets = {key: ([], []) for entry in source for key in (entry.content, entry.timeless)}
            return bool(source)
        if self._above is not None:
            self._at_above = (
                self._at_above[0] or next((each for each in source if each.offset == self._above.source), None),
                self._at_above[1] or next((each for each in target if each.offset == self._above.target), None),
            )
        for number, entries in enumerate((source, target)):
            for entry in entries:
                for key in {entry.content, entry.timeless} & self._offsets.keys():
                    if len(self._offsets[key][number]) < 2:
                        self._offsets[key][number].append(entry.offset)
        self._read += self._stride
        return self._read < max(len(self._source), len(self._target))

    def anchor(self) -> Anchor | None:
        """Return the nearest pair below the position, or the first unread record; ``None`` where there is none."""
        found = self._pairs()
        if self._above is not None:
            if not self._above_is_one_record():
                return None
            found = sorted({*found, self._above})
        if any(one.target >= other.target for one, other in pairwise(found)):
            return None
        at = bisect_left(found, (self._position,))
        if at:
            return found[at - 1]
        unread = next((entry.offset for entry in self._wanted or () if entry.offset >= self._position), None)
        if found and found[0].source == unread:
            return SeedPoint(self._position, found[0].target)
        return None

    def _pairs(self) -> list[OffsetPair]:
        """Return the records that occur once in either log, rising on the source."""
        wanted = {entry.timeless if self._stamped else entry.content for entry in self._wanted or ()}
        found = (self._offsets[key] for key in wanted)
        return sorted(OffsetPair(*at, *copy_at) for at, copy_at in found if len(at) == 1 == len(copy_at))

    def _above_is_one_record(self) -> bool:
        source, target = self._at_above
        if source is None or target is None:
            return False
        return source.timeless == target.timeless if self._stamped else source.content == target.content
