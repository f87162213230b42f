"""Matching two logs record by record, from a place that is known on both sides. Pure: sequences in, numbers out.

Why this is never late: from a true pair on, a target that holds the source's records in order holds the n-th of them
at the n-th place or later. Equal content in lock step therefore never runs ahead of the truth, whatever lies between,
and it stops at the first record that differs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from kafka_dr.audit import Entry
from kafka_dr.positions import OffsetRange


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place that is believed to be the same on both sides.

    :param kind: ``record``: the offsets *of* one record and its copy; ``position``: offsets next to read, below which
        and from which on the records of both sides correspond
    :param trusted: it follows from what was matched before, or both logs begin here; others must be told apart from
        their surroundings by content
    """

    source: int
    target: int
    kind: Literal["record", "position"]
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """How far the source's records were found again, one by one.

    :param confirmed: the anchor is right: content says so, in a way that does not fit elsewhere in what was read
    :param complete: every record between anchor and position was matched
    :param starved: no record differs, but what was read of the target ended before what was read of the source
    :param source_offset: next to read after the last matched record; the anchor where none was
    :param target_offset: the same on the target
    """

    confirmed: bool
    complete: bool
    starved: bool
    source_offset: int
    target_offset: int


_REJECTED = Alignment(confirmed=False, complete=False, starved=False, source_offset=-1, target_offset=-1)


def align(source: Sequence[Entry], target: Sequence[Entry], *, anchor: Anchor, position: int) -> Alignment:
    """Match records in lock step from an anchor up to a position on the source.

    Both sequences may begin before the anchor and go on after the position: what lies there helps to tell whether the
    anchor is right, and is not counted.

    :param position: next to read, on the source
    """
    start, target_start = bisect_left(source, (anchor.source,)), bisect_left(target, (anchor.target,))
    if anchor.kind == "record" and not (
        _lies_at(source, start, anchor.source) and _lies_at(target, target_start, anchor.target)
    ):
        return _REJECTED
    forward = _equal(source, target, start, target_start, step=1)
    backward = _equal(source, target, start - 1, target_start - 1, step=-1)
    wanted = max(0, bisect_left(source, (position,)) - start)
    matched = min(forward, wanted)
    confirmed = anchor.trusted or _distinct(source, target, range(start - backward, start + forward))
    return Alignment(
        confirmed=confirmed,
        complete=matched == wanted,
        starved=start + forward < len(source) and target_start + forward == len(target),
        source_offset=source[start + matched - 1].offset + 1 if matched else anchor.source,
        target_offset=target[target_start + matched - 1].offset + 1 if matched else anchor.target,
    )


def _lies_at(entries: Sequence[Entry], at: int, offset: int) -> bool:
    return at < len(entries) and entries[at].offset == offset


def _equal(source: Sequence[Entry], target: Sequence[Entry], at: int, target_at: int, *, step: Literal[1, -1]) -> int:
    """Return how many records are equal, one by one, in a direction."""
    count = 0
    while 0 <= at < len(source) and 0 <= target_at < len(target) and source[at].content == target[target_at].content:
        at, target_at, count = at + step, target_at + step, count + 1
    return count


def _distinct(source: Sequence[Entry], target: Sequence[Entry], matched: range) -> bool:
    """Return whether one of the matched records occurs nowhere else in what was read, on either side."""
    here = Counter(entry.content for entry in source)
    there = Counter(entry.content for entry in target)
    return any(here[source[at].content] == 1 == there[source[at].content] for at in matched)


#: Offsets of a log that are read; of a longer one nothing is known to occur in it once.
MOST_READ = 200_000


class Once:
    """Looks for records around one position in both logs, from their beginning to their end.

    :param source: what the source holds
    :param target: what the target holds
    :param position: next to read on the source
    :param above: a pair at or after the position that is believed to be one record and its copy; it has to look so
    :param around: offsets to either side of it whose records are looked for
    :param stride: offsets of each log that are looked at in one go
    """

    def __init__(
        self,
        source: OffsetRange,
        target: OffsetRange,
        *,
        position: int,
        above: Anchor | None,
        around: int,
        stride: int,
    ) -> None:
        self._above = above
        self._top: tuple[Entry | None, Entry | None] = (None, None)
        if above is not None:
            source, target = OffsetRange(source.start, above.source + 1), OffsetRange(target.start, above.target + 1)
        self._source, self._target = source, target
        self._position, self._stride = position, stride
        low = min(max(source.start, position - around), source.end)
        self._near = OffsetRange(low, max(low, min(source.end, position + around)))
        self._wanted: Sequence[Entry] | None = None
        self._at = 0
        self._stamped = False
        self._here, self._there = _Seen(), _Seen()

    @property
    def worth_it(self) -> bool:
        """Whether both logs hold something, and are short enough to be read."""
        return 0 < len(self._source) <= MOST_READ and 0 < len(self._target) <= MOST_READ

    @property
    def done(self) -> bool:
        """Whether everything was looked at, or there is nothing to look for."""
        return self._wanted is not None and (not self._wanted or self._at >= max(len(self._source), len(self._target)))

    def window(self) -> tuple[OffsetRange, OffsetRange]:
        """Return what to read of both logs next."""
        if self._wanted is None:
            return self._near, OffsetRange(self._target.start, self._target.start)
        return self._stretch(self._source), self._stretch(self._target)

    def look(self, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        """Take in what is in both windows."""
        self._stamped = self._stamped or any(entry.stamped for entry in (*source, *target))
        if self._wanted is None:
            self._wanted = source
            self._here.want(source)
            self._there.want(source)
            return
        if self._above is not None:
            self._top = (
                self._top[0] or next((each for each in source if each.offset == self._above.source), None),
                self._top[1] or next((each for each in target if each.offset == self._above.target), None),
            )
        self._here.note(source)
        self._there.note(target)
        self._at += self._stride

    def anchor(self) -> Anchor | None:
        """Return the nearest pair below the position, or what comes right after it; nothing where there is none."""
        found = self._pairs()
        if self._above is not None:
            if not self._is_one_record():
                return None
            found = sorted({*found, (self._above.source, self._above.target)})
        if any(one[1] >= other[1] for one, other in pairwise(found)):
            return None
        at = bisect_left(found, (self._position,))
        if at:
            return Anchor(*found[at - 1], "record")
        unread = next((entry.offset for entry in self._wanted or () if entry.offset >= self._position), None)
        if found and found[0][0] == unread:
            return Anchor(self._position, found[0][1], "position")
        return None

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the records that occur once in either log, rising on the source."""
        here, there = (side.timeless if self._stamped else side.whole for side in (self._here, self._there))
        return sorted((at[0], there[key][0]) for key, at in here.items() if len(at) == 1 == len(there[key]))

    def _is_one_record(self) -> bool:
        here, there = self._top
        if here is None or there is None:
            return False
        return here.timeless == there.timeless if self._stamped else here.content == there.content

    def _stretch(self, held: OffsetRange) -> OffsetRange:
        start = min(held.end, held.start + self._at)
        return OffsetRange(start, min(held.end, start + self._stride))


@dataclass(slots=True)
class _Seen:
    """At which offsets of a log wanted records lie, by their content with and without time; two at most of each."""

    whole: dict[bytes, list[int]] = field(default_factory=dict)
    timeless: dict[bytes, list[int]] = field(default_factory=dict)

    def want(self, entries: Sequence[Entry]) -> None:
        """Look out for these from now on."""
        self.whole.update({entry.content: [] for entry in entries})
        self.timeless.update({entry.timeless: [] for entry in entries})

    def note(self, entries: Sequence[Entry]) -> None:
        """Take in a stretch of the log."""
        for entry in entries:
            for found in (self.whole.get(entry.content), self.timeless.get(entry.timeless)):
                if found is not None and len(found) < 2:
                    found.append(entry.offset)
