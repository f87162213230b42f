"""The search for one position on the target: which stretches of both logs to read next, and what they say.

Pure: a :class:`Search` says what it wants to see, is shown it, and in the end has a result. It starts at the nearest
anchor below the position; one that content contradicts is left for the next lower, and for the beginning of both logs.
Where none of them is right, as where both logs begin with different records, a record near the position that occurs
once in either log is looked for; the last resort is the beginning of the target. No result is ever late
(:mod:`kafka_dr.offsets.translate.matching` says why).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kafka_dr.audit import Entry
from kafka_dr.offsets.translate.answers import Kind, Translation
from kafka_dr.offsets.translate.local_check import judge
from kafka_dr.offsets.translate.matching import Alignment, Anchor, Once, align
from kafka_dr.positions import OffsetRange

#: Records before an anchor and after a position that are looked at to tell whether the anchor is right.
SURROUNDINGS = 64
#: Source offsets that are matched in one go; memory is bounded by it, not by the log.
STRIDE = 20_000
#: Anchors that may be contradicted before the search goes back to the beginning.
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a partition holds on both sides: first offset, and end (next to be written)."""

    source: OffsetRange
    target: OffsetRange


@dataclass(frozen=True, slots=True)
class Window:
    """What a search wants to see next."""

    source: OffsetRange
    target: OffsetRange


def consistent(anchors: Iterable[Anchor], bounds: Bounds) -> tuple[Anchor, ...]:
    """Return the anchors that can be used, lowest first.

    Left out are those outside what the logs still hold, and those that another one contradicts: of two that would
    cross, the one that points further ahead on the target, so that an ambiguity never makes a group skip anything.
    """
    lowest: dict[int, Anchor] = {}
    for anchor in anchors:
        if _within(anchor, bounds):
            known = lowest.get(anchor.source)
            if known is None or anchor.target < known.target:
                lowest[anchor.source] = anchor
    kept: list[Anchor] = []
    for source in sorted(lowest, reverse=True):
        if not kept or lowest[source].target <= kept[-1].target:
            kept.append(lowest[source])
    return tuple(reversed(kept))


def nothing_expired_early(anchors: Iterable[Anchor], bounds: Bounds) -> bool:
    """Return whether the target is known to hold the copies of all that the source still holds.

    That is so where it never deleted anything, or still holds the copy of a record at or below the source's start.
    Retention works on each side by itself, so else nobody knows what the target deleted first.

    :param anchors: also those of records that expired on the source
    """
    start = bounds.target.start
    return start == 0 or any(a.source <= bounds.source.start and a.target >= start for a in anchors)


def _within(anchor: Anchor, bounds: Bounds) -> bool:
    last = 0 if anchor.kind == "position" else 1
    source, target = bounds.source, bounds.target
    return source.start <= anchor.source <= source.end - last and target.start <= anchor.target <= target.end - last


class Search:
    """Finds what one position is on the target.

    :param position: next to read on the source
    :param bounds: what both logs hold
    :param anchors: as :func:`consistent` returns them
    :param whole: whether the target is known to hold what the source holds (:func:`nothing_expired_early`)
    :param stride: source offsets that are matched in one go
    """

    def __init__(
        self, position: int, *, bounds: Bounds, anchors: Sequence[Anchor], whole: bool, stride: int = STRIDE
    ) -> None:
        self.position = position
        self.result: Translation | None = None
        self.learned: list[Anchor] = []
        self._bounds = bounds
        self._whole = whole
        self._stride = stride
        below = [a for a in anchors if a.source < position or (a.kind == "position" and a.source == position)]
        start = Anchor(
            bounds.source.start,
            bounds.target.start,
            "position",
            trusted=bounds.source.start == 0 == bounds.target.start,
        )
        #: That both logs begin with the same record is no more than a guess where the target deleted some.
        self._guess = start if bounds.target.start > 0 else None
        self._candidates = [*reversed(below[-_ATTEMPTS:]), start]
        self._anchor = self._candidates.pop(0)
        self._reach = 0
        self._beyond = SURROUNDINGS
        above = next((a for a in anchors if a.kind == "record" and a.source >= position), None)
        held = bounds.source, bounds.target
        self._once = Once(*held, position=position, above=above, around=SURROUNDINGS, stride=stride)
        self._seeking = False
        self._begin(self._anchor)
        self._refuse_what_lies_outside()

    @property
    def distance(self) -> int:
        """Source offsets between the place from which matching goes on and the position; 0 once there is a result."""
        return 0 if self.result is not None else self.position - self._anchor.source

    def window(self) -> Window:
        """Return what to read next."""
        if self._seeking:
            return Window(*self._once.window())
        bounds, anchor = self._bounds, self._anchor
        source_end = min(bounds.source.end, self._stop + self._beyond)
        return Window(
            OffsetRange(max(bounds.source.start, anchor.source - SURROUNDINGS), source_end),
            OffsetRange(max(bounds.target.start, anchor.target - SURROUNDINGS), self._target_end),
        )

    def look(self, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        """Take in what lies in the window, in order, and decide or ask for more."""
        if self._seeking:
            self._seek(source, target)
            return
        self._decide(source, target)
        if self.result is not None and self.result.target_offset is not None:
            # Held against what was read anyway: a second opinion costs no read, and a late place must not be written.
            place = self.result.target_offset
            proven = judge(_near(source, self.position), self.position, _near(target, place), place)
            self.result = replace(self.result, proof=proven.verdict)

    def _decide(self, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        found = align(source, target, anchor=self._anchor, position=self._stop)
        if self._anchor is self._guess and _without_times(source, target):
            # A record of the source may look like the target's first one, which is a later one's copy.
            found = replace(found, confirmed=False)
        decided = found.confirmed and found.complete
        if found.starved and not decided and self._target_end < self._bounds.target.end:
            self._reach *= 4
        elif not found.confirmed:
            self._next_candidate(found)
        elif not found.complete:
            self._settle_incomplete(found, source, target)
        elif self._stop == self.position:
            self._learn(found)
            self._settle_matched(found.target_offset, source, target)
        else:
            self._learn(found)
            self._begin(Anchor(self._stop, found.target_offset, "position", trusted=True))

    @property
    def _stop(self) -> int:
        return min(self.position, self._anchor.source + self._stride)

    @property
    def _target_end(self) -> int:
        return min(self._bounds.target.end, self._anchor.target + self._reach)

    def _begin(self, anchor: Anchor) -> None:
        self._anchor = anchor
        # Replication may write a marker after each record; what is not enough is extended.
        self._reach = 2 * (self._stop + SURROUNDINGS - anchor.source) + SURROUNDINGS

    def _refuse_what_lies_outside(self) -> None:
        source = self._bounds.source
        if self.position > source.end:
            reason = f"the position is past the source's end {source.end}: the log was cut, or the offset is wrong"
            self.result = Translation(self.position, None, "unknown", None, reason)
        elif self.position < source.start:
            reason = f"records up to {source.start} expired on the source unread: the target is read from its start"
            self._settle_at_the_start(reason)

    def _next_candidate(self, found: Alignment) -> None:
        if self._candidates:
            self._begin(self._candidates.pop(0))
            return
        if self._once.worth_it and not self._once.done:
            self._seeking = True
            return
        self._give_up(found)

    def _seek(self, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        """Look for a record near the position that occurs once in either log; matching goes on from there."""
        self._once.look(source, target)
        if not self._once.done:
            return
        self._seeking = False
        if found := self._once.anchor():
            self._begin(found)
        else:
            self._give_up(None)

    def _give_up(self, found: Alignment | None) -> None:
        target = self._bounds.target
        if len(target) == 0 and found is not None and found.complete and self._nothing_is_missing:
            self._settle("exact", target.start, 0, "the target holds no record")
            return
        self._settle_at_the_start("no place below could be confirmed by content: the target is read from its start")

    @property
    def _nothing_is_missing(self) -> bool:
        """Whether the target from its start on holds every copy of what the source holds and the group has not read."""
        source = self._bounds.source
        return self._whole or max(self.position, source.start) == source.end

    def _settle_at_the_start(self, reason: str) -> None:
        target = self._bounds.target
        if self._nothing_is_missing:
            self._settle("bounded", target.start, len(target), reason)
            return
        why = f"{reason.partition(':')[0]}, and the target no longer holds what lies below {target.start}: unread"
        self.result = Translation(
            self.position, None, "unknown", None, f"{why} records may have expired there that the source still holds"
        )

    def _settle_matched(self, place: int, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        """Give the place, unless records lie there that the group may have read: then say how many.

        They are what the source's cleaner took away and the target's did not yet, or what somebody else wrote.
        """
        matched = "every record from a confirmed place up to here was matched"
        again = self._before_the_unread(place, source, target)
        if again == 0:
            self._settle("exact", place, 0, matched)
        elif again is not None or not self._sees_more():
            again = self._bounds.target.end - place if again is None else again
            said = f"{matched}; {again} records that the source does not hold may come before the first unread one"
            self._settle("bounded", place, again, said)

    def _before_the_unread(self, place: int, source: Sequence[Entry], target: Sequence[Entry]) -> int | None:
        """Count the target's records from a place up to the first unread one; ``None`` if none of those is seen."""
        unread = {entry.content for entry in source[bisect_left(source, (self.position,)) :]}
        following = target[bisect_left(target, (place,)) :]
        found = (n for n, entry in enumerate(following) if entry.content in unread)
        return next(found, None if following else 0)

    def _sees_more(self) -> bool:
        """Ask for more of what lies behind the position; return whether there is any, and memory for it."""
        before, most = self.window(), self._stride
        self._beyond, self._reach = min(4 * self._beyond, most), min(4 * self._reach, max(self._reach, 4 * most))
        return self.window() != before

    def _settle_incomplete(self, found: Alignment, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        place, read = found.target_offset, self.position - found.source_offset
        if found.starved:
            reason = f"the target ends before the records from {found.source_offset} on that were read already"
            self._settle("bounded", place, read, reason)
            return
        again = self._before_the_unread(place, source, target)
        again = max(read, self._bounds.target.end - place) if again is None else again
        self._settle(
            "bounded",
            place,
            again,
            f"the logs differ from source offset {found.source_offset} on: read again from there",
        )

    def _learn(self, found: Alignment) -> None:
        if found.target_offset > self._anchor.target:
            self.learned.append(Anchor(found.source_offset - 1, found.target_offset - 1, "record"))

    def _settle(self, kind: Kind, offset: int, again: int, reason: str) -> None:
        self.result = Translation(self.position, offset, kind, again, reason)


def _without_times(source: Sequence[Entry], target: Sequence[Entry]) -> bool:
    return any(entry.stamped for entry in (*source, *target))


def _near(entries: Sequence[Entry], offset: int) -> Sequence[Entry]:
    at = bisect_left(entries, (offset,))
    return entries[max(0, at - SURROUNDINGS) : at + SURROUNDINGS]
