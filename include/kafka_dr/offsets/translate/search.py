"""The search for one translated offset: which ranges of both logs to read next, and what their records say.

Pure: an :class:`OffsetSearch` says what it wants to see, is shown it, and in the end has a result. It starts at the
nearest anchor below the offset. If content contradicts that anchor, it takes the next lower one, and then the beginning
of both logs. If none of them is right, as where both logs begin with different records, it looks for a record near the
offset that occurs once in either log. The last resort is the beginning of the target. No result is ever late
(:mod:`kafka_dr.offsets.translate.matching` says why).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kafka_dr.audit.copies import Entry
from kafka_dr.counted import counted
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.local_check import check_locally
from kafka_dr.offsets.translate.matching import Alignment, Anchor, UniqueRecords, align
from kafka_dr.offsets.translate.taken_over_copy import TakenOverCopy
from kafka_dr.positions import OffsetPair, OffsetRange, SeedPoint

#: Records before an anchor and after an offset that are looked at to decide whether the anchor is right.
SURROUNDINGS = 64
#: Source offsets that are matched at once. It limits the memory that is needed; the length of the log does not.
STRIDE = 20_000
#: Anchors that content may contradict before the search takes the beginning of both logs.
_ATTEMPTS = 4


A = TypeVar("A", bound=Anchor)


@dataclass(frozen=True, slots=True)
class RangePair:
    """A range of one partition on the source, and one on the target."""

    source: OffsetRange
    target: OffsetRange


def consistent(anchors: Iterable[A], held: RangePair) -> tuple[A, ...]:
    """Return the anchors that can be used, lowest first.

    Left out are anchors outside what the logs still hold. Of two that contradict each other, the one that points
    further ahead on the target is left out. So an ambiguity never makes a group skip a record.

    :param held: what both logs hold
    """
    lowest: dict[int, A] = {}
    for each in anchors:
        last = 1 if isinstance(each, OffsetPair) else 0
        if (
            held.source.start <= each.source <= held.source.end - last
            and held.target.start <= each.target <= held.target.end - last
        ):
            lower = lowest.get(each.source)
            if lower is None or each.target < lower.target:
                lowest[each.source] = each
    kept: list[A] = []
    for source in sorted(lowest, reverse=True):
        if not kept or lowest[source].target <= kept[-1].target:
            kept.append(lowest[source])
    return tuple(reversed(kept))


def nothing_expired_early(anchors: Iterable[Anchor], held: RangePair) -> bool:
    """Return whether the target is known to hold the copies of all that the source still holds.

    That is so if the target never deleted anything, or if it still holds the copy of a record at or below the source's
    start. Each cluster applies retention by itself, so else it is not known what the target deleted first.

    :param anchors: also those of records that expired on the source
    """
    start = held.target.start
    return start == 0 or any(each.source <= held.source.start and each.target >= start for each in anchors)


class OffsetSearch:
    """Finds the translation of one offset.

    :param position: the offset: next to read on the source
    :param held: what both logs hold
    :param anchors: as :func:`consistent` returns them
    :param whole: whether the target is known to hold what the source holds (:func:`nothing_expired_early`)
    :param taken_over: what is known of the part of the copy that another replication made; ``None`` if none did
    :param stride: source offsets that are matched at once
    """

    def __init__(
        self,
        position: int,
        *,
        held: RangePair,
        anchors: Sequence[Anchor],
        whole: bool,
        taken_over: TakenOverCopy | None = None,
        stride: int = STRIDE,
    ) -> None:
        self.position = position
        self.result: Translation | None = None
        self.learned: list[OffsetPair] = []
        self._held = held
        self._whole = whole
        self._stride = stride
        self._certain = taken_over.certain if taken_over else frozenset()
        self._copied_twice = taken_over is not None
        #: There a record that occurs once in either log proves no order.
        self._without_order = taken_over is not None and taken_over.covers(position)
        source, target = held.source, held.target
        self._start = start = SeedPoint(source.start, target.start)
        #: Where the target deleted records, it is only a guess that both logs begin with the same record.
        self._guess = start if target.start > 0 else None
        below = [
            each
            for each in anchors
            if each.source < position or (isinstance(each, SeedPoint) and each.source == position)
        ]
        self._candidates: list[Anchor] = [start, *below[-_ATTEMPTS:]]
        self._above = next((each for each in anchors if isinstance(each, OffsetPair) and each.source >= position), None)
        self._unique: UniqueRecords | None = None
        self._seeking = False
        self._beyond = SURROUNDINGS
        self._begin(self._candidates.pop())
        if position > source.end:
            reason = f"the position is past the source's end {source.end}: the log was cut, or the offset is wrong"
            self.result = Translation(position, None, "unknown", None, reason)
        elif position < source.start:
            reason = f"records up to {source.start} expired on the source unread: the target is read from its start"
            self._settle_at_the_start(reason)

    @property
    def is_exact(self) -> bool:
        """Whether there is a result, and it is exact."""
        return self.result is not None and self.result.kind == "exact"

    @property
    def distance(self) -> int:
        """Source offsets between the anchor in use and the offset; 0 once there is a result."""
        return 0 if self.result is not None else self.position - self._anchor.source

    def window(self) -> RangePair:
        """Return what to read next."""
        if self._seeking and self._unique:
            return RangePair(*self._unique.window())
        source, target, anchor = self._held.source, self._held.target, self._anchor
        return RangePair(
            OffsetRange(max(source.start, anchor.source - SURROUNDINGS), min(source.end, self._stop + self._beyond)),
            OffsetRange(max(target.start, anchor.target - SURROUNDINGS), min(target.end, anchor.target + self._reach)),
        )

    def look(self, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        """Take in the records of the window, in order, and decide or ask for more."""
        if self._seeking and self._unique:
            self._seeking = self._unique.look(source, target)
            if not self._seeking:
                # Where a record near the offset occurs once in either log, matching continues from it.
                found = self._unique.anchor()
                self._begin(found) if found else self._give_up(None)
            return
        self._decide(source, target)
        if self.result is not None and self.result.target_offset is not None:
            # The check needs no read, and a late offset must not be committed.
            near = []
            for entries, offset in ((source, self.position), (target, self.result.target_offset)):
                at = bisect_left(entries, (offset,))
                near.append(entries[max(0, at - SURROUNDINGS) : at + SURROUNDINGS])
            checked = check_locally(near[0], self.position, near[1], self.result.target_offset)
            self.result = replace(self.result, proof=checked.verdict)

    def _begin(self, anchor: Anchor, *, matched: bool = False) -> None:
        self._anchor = anchor
        at_start = anchor is self._start and anchor.source == 0 == anchor.target
        self._trusted = matched or at_start or anchor in self._certain
        self._stop = min(self.position, anchor.source + self._stride)
        # Replication may write a marker after each record. If this is not enough, more is read.
        self._reach = 2 * (self._stop + SURROUNDINGS - anchor.source) + SURROUNDINGS

    def _decide(self, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        found = align(source, target, anchor=self._anchor, position=self._stop, trusted=self._trusted)
        if self._anchor is self._guess and any(entry.stamped for entry in (*source, *target)):
            # Without times, a record of the source may look like the target's first one, which is a later one's copy.
            found = replace(found, confirmed=False)
        decided = found.confirmed and found.complete
        if found.starved and not decided and self.window().target.end < self._held.target.end:
            self._reach *= 4
        elif not found.confirmed:
            self._next_candidate(found)
        elif not found.complete:
            self._settle_incomplete(found, source, target)
        else:
            if found.reached.target > self._anchor.target:
                self.learned.append(OffsetPair(found.reached.source - 1, found.reached.target - 1))
            if self._stop == self.position:
                self._settle_matched(found.reached.target, source, target)
            else:
                self._begin(SeedPoint(self._stop, found.reached.target), matched=True)

    def _next_candidate(self, found: Alignment) -> None:
        if self._candidates:
            self._begin(self._candidates.pop())
            return
        if self._unique is None and not self._without_order:
            self._unique = UniqueRecords(
                self._held.source,
                self._held.target,
                position=self.position,
                above=self._above,
                around=SURROUNDINGS,
                stride=self._stride,
            )
            if self._unique.is_short_enough:
                self._seeking = True
                return
        self._give_up(found)

    def _give_up(self, found: Alignment | None) -> None:
        target = self._held.target
        if len(target) == 0 and found is not None and found.complete and self._nothing_is_missing:
            self.result = Translation(self.position, target.start, "exact", 0, "the target holds no record")
            return
        self._settle_at_the_start("no offset below it was confirmed by content: the target is read from its start")

    @property
    def _nothing_is_missing(self) -> bool:
        """Whether the target from its start on holds every copy of what the source holds and the group has not read."""
        source = self._held.source
        return self._whole or max(self.position, source.start) == source.end

    def _settle_at_the_start(self, reason: str) -> None:
        target = self._held.target
        if self._nothing_is_missing:
            self.result = Translation(self.position, target.start, "bounded", self._read_again(target.start), reason)
            return
        why = (
            f"{reason.partition(':')[0]}, and the target no longer holds the records below {target.start}: unread "
            "records that the source still holds may have expired there"
        )
        self.result = Translation(self.position, None, "unknown", None, why)

    def _read_again(self, offset: int) -> int:
        """Return how many records a group reads again at most, if it resumes at an offset of the target.

        That is no more than it has read, unless another replication has copied records twice.
        """
        left = self._held.target.end - offset
        return left if self._copied_twice else min(left, self.position)

    def _settle_matched(self, offset: int, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        """Give the offset. If records follow there that the group may have read, say how many.

        They are records that the source's cleaner deleted and the target's did not yet, or that another client wrote.
        """
        matched = "every record from a confirmed position up to here was matched"
        again = self._before_the_unread(offset, source, target)
        if again == 0:
            self.result = Translation(self.position, offset, "exact", 0, matched)
        elif again is not None or not self._sees_more():
            again = self._read_again(offset) if again is None else again
            many = counted(again, "record")
            said = f"{matched}; {many} that the source does not hold may come before the first unread one"
            self.result = Translation(self.position, offset, "bounded", again, said)

    def _before_the_unread(self, offset: int, source: Sequence[Entry], target: Sequence[Entry]) -> int | None:
        """Count the target's records from an offset to the first unread one; ``None`` if none of those is seen."""
        unread = {entry.content for entry in source[bisect_left(source, (self.position,)) :]}
        following = target[bisect_left(target, (offset,)) :]
        found = (n for n, entry in enumerate(following) if entry.content in unread)
        return next(found, None if following else 0)

    def _sees_more(self) -> bool:
        """Ask for more records after the offset; return whether there are any, and memory for them."""
        before, most = self.window(), self._stride
        self._beyond, self._reach = min(4 * self._beyond, most), min(4 * self._reach, max(self._reach, 4 * most))
        return self.window() != before

    def _settle_incomplete(self, found: Alignment, source: Sequence[Entry], target: Sequence[Entry]) -> None:
        offset, read = found.reached.target, self.position - found.reached.source
        if found.starved:
            reason = f"the target ends before the records from {found.reached.source} on that were read already"
            self.result = Translation(self.position, offset, "bounded", read, reason)
            return
        again = self._before_the_unread(offset, source, target)
        again = max(read, self._read_again(offset)) if again is None else again
        reason = f"the logs differ from source offset {found.reached.source} on: read again from there"
        self.result = Translation(self.position, offset, "bounded", again, reason)
