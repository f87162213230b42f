"""Finding a record near a position that occurs exactly once in either log, where no anchor says where its copy is.

Why such a pair is never late: copies keep the order of their originals. If the one record on the target were no copy of
the one on the source, its own original would have expired there, so it is older, and its copy is before the copy of
the other one. Such a pair makes records come again at worst. Where pairs near each other contradict that order, nothing
is said.

Both logs have to be read for it, up to the next pair of offsets that is known after the position (where offset syncs
are written that is never far), else to their ends; it is left alone where that takes too long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kafka_dr.audit import Entry
from kafka_dr.offsets.alignment import Anchor
from kafka_dr.positions import OffsetRange

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
