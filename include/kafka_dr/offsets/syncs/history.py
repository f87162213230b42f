"""What the archive of offset syncs says about one partition. Pure: syncs in the order in which they were written.

A sync is one record that was copied: everything before it on the source was copied before it, in order. So a group that
has read it may resume after its copy, and skips nothing. That holds while both logs stay the same:

* where the target goes backwards, it was cut or created again, and syncs that were written before do not count;
* where only the source goes backwards, a flow was set back and copied records a second time. Of two copies the earlier
  one counts, so that no record is skipped that only the first pass copied. Everything from there on may come again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kafka_dr.positions import OffsetPair, TopicPartition

#: Syncs of a partition that MirrorMaker's own checkpoint task keeps in memory.
_SLOTS = 64


class ArchivedSync(NamedTuple):
    """One offset sync, as the archive keeps it.

    :param at: its own offset in the topic of syncs
    :param synced_ms: when it was written, milliseconds since the epoch
    """

    at: int
    source: int
    target: int
    synced_ms: int


@dataclass(frozen=True, slots=True)
class History:
    """The pairs of one partition that can be relied on, rising on both clusters.

    :param left_out: how many others the archive holds
    :param reason: why those are not relied on; empty if there are none
    :param repeated_from: the target's first copy of the last pass that started again; 0 if none did. A group that
        resumes before it may get everything after it a second time
    """

    pairs: tuple[OffsetPair, ...] = ()
    left_out: int = 0
    reason: str = ""
    repeated_from: int = 0

    def below(self, position: int) -> OffsetPair | None:
        """Return the last pair at or below a position, which is next to read on the source."""
        number = bisect_right(self.pairs, position, key=lambda pair: pair.source)
        return self.pairs[number - 1] if number else None


NOTHING = History()


def history(syncs: Sequence[ArchivedSync]) -> History:
    """Return what one partition's syncs say, in the order in which they were written."""
    first, repeated, reasons = 0, 0, []
    for number in range(1, len(syncs)):
        before, now = syncs[number - 1], syncs[number]
        if (now.source, now.target) == (before.source, before.target):
            continue
        step = f"from {before.source}→{before.target} to {now.source}→{now.target}"
        if now.target <= before.target:
            first, repeated = number, 0
            reasons = [f"the target goes back {step}: the {number} syncs before that are not relied on"]
        elif now.source <= before.source:
            repeated = now.target
            reasons = [*reasons[-1:], f"the flow was set back {step} and copied records twice"]
    found = {OffsetPair(sync.source, sync.target) for sync in syncs[first:]}
    pairs = _rising(found)
    return History(pairs, first + len(found) - len(pairs), "; ".join(reasons), repeated)


def composed(forth: History, back: History) -> History:
    """Join what the flow of a direction wrote with what the flow of the other one wrote, over any number of switches.

    A sync is a pair of offsets of one record, whichever direction wrote it. Of pairs that contradict each other, those
    that point further ahead on the target are left out, so that an ambiguity makes no group skip a record.

    :param forth: of the flow from source to target
    :param back: of the flow from target to source, so its own source is this one's target
    """
    found = {*forth.pairs, *(pair.reversed for pair in back.pairs)}
    pairs = _rising(found)
    crossing = len(found) - len(pairs)
    reasons = [forth.reason, back.reason, f"{crossing} syncs contradict others" if crossing else ""]
    return History(
        pairs,
        forth.left_out + back.left_out + crossing,
        "; ".join(each for each in reasons if each),
        forth.repeated_from,
    )


def since(syncs: Sequence[ArchivedSync], at: int) -> History:
    """Return what is left if the archive has a hole: nothing that was written before it is relied on.

    :param at: the first offset of the topic of syncs after the hole
    """
    left = [sync for sync in syncs if sync.at >= at]
    found, lost = history(left), len(syncs) - len(left)
    if not lost:
        return found
    why = f"the archive has a hole before {at}: the {lost} syncs before it are not relied on"
    said = "; ".join(filter(None, (why, found.reason)))
    return replace(found, left_out=found.left_out + lost, reason=said)


def _rising(found: Collection[OffsetPair]) -> tuple[OffsetPair, ...]:
    """Return pairs that rise on both clusters: of two that contradict each other, the one further ahead is left out."""
    kept: list[OffsetPair] = []
    for pair in sorted(found, reverse=True):
        if kept and pair.source == kept[-1].source:
            kept.pop()
        if not kept or pair.target < kept[-1].target:
            kept.append(pair)
    return tuple(reversed(kept))


@dataclass(frozen=True, slots=True)
class ArchivedSyncs:
    """What the archive says about some topics.

    :param problems: what is wrong with its files, a sentence each
    :param reached: next to read in the topic of syncs that counts now; ``None`` where nothing of it was archived
    :param after_hole: only syncs from this offset on are relied on
    :param base: what is added to offsets of the topic of syncs that counts now, so that they follow those of earlier
        topics of that name
    """

    histories: Mapping[TopicPartition, History] = field(default_factory=dict)
    syncs: Mapping[TopicPartition, Sequence[ArchivedSync]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    reached: int | None = None
    after_hole: int = 0
    base: int = 0

    def of(self, partition: TopicPartition) -> History:
        """Return what is known of a partition."""
        return self.histories.get(partition, NOTHING)

    def with_newer(self, newer: Mapping[TopicPartition, Sequence[ArchivedSync]], *, begin: int) -> ArchivedSyncs:
        """Return the same with syncs that were just read from the topic.

        :param begin: the first offset that was read; if there is a hole between the archive and it, nothing before
            it counts
        """
        if self.reached is not None and begin > self.reached:
            gone = f"the syncs {self.reached} to {begin} were deleted before they were archived"
            return ArchivedSyncs(
                {p: history(found) for p, found in newer.items()}, newer, (*self.problems, gone), begin
            )
        shifted = {p: [s._replace(at=self.base + s.at) for s in found] for p, found in newer.items()}
        together = {p: [*self.syncs.get(p, ()), *shifted.get(p, ())] for p in self.syncs.keys() | newer.keys()}
        known = {p: since(found, self.after_hole) for p, found in together.items()}
        return replace(self, histories=known, syncs=together)


class CheckpointRule:
    """What MirrorMaker's own checkpoint task would make of an offset, so that its answer can be compared with ours.

    The task keeps at most 64 syncs of a partition in memory: many new ones and few old ones. Its answer is the offset
    after the nearest sync below. This is that rule, applied to the archive instead of the topic: what a task knows that
    never restarted. A task that restarted may know less, because the topic is compacted. So this is its best answer.

    :param syncs: of one partition, in the order in which they were written
    """

    def __init__(self, syncs: Iterable[ArchivedSync | OffsetPair] = ()) -> None:
        self._slots: list[OffsetPair] = []
        for sync in syncs:
            self._take(OffsetPair(sync.source, sync.target))

    @property
    def kept(self) -> tuple[OffsetPair, ...]:
        """The syncs that are still held, newest first."""
        return tuple(dict.fromkeys(self._slots))

    def translate(self, position: int) -> int | None:
        """Return its answer for an offset; both are next to read.

        :returns: ``None`` where it writes no checkpoint: without any sync, or before the oldest that it still holds
        """
        for sync in self._slots:
            if sync.source <= position:
                return sync.target if sync.source == position else sync.target + 1
        return None

    def _take(self, sync: OffsetPair) -> None:
        if not self._slots or self._slots[0].source > sync.source:
            self._slots = [sync] * _SLOTS
            return
        replacement, discarded = sync, self._slots[0]
        self._slots[0] = sync
        for number in range(1, _SLOTS):
            if self._still_fits(discarded, number):
                replacement = discarded
            if _near_enough(self._slots[number - 1], self._slots[number], number - 1, number):
                return
            discarded, self._slots[number] = self._slots[number], replacement

    def _still_fits(self, sync: OffsetPair, number: int) -> bool:
        """Return whether a sync that lost its slot may have the next one."""
        before, following = self._slots[number - 1], number + 1
        return (
            _near_enough(before, sync, number - 1, number)
            and _far_enough(before, sync, number - 1)
            and (following >= _SLOTS or _far_enough(sync, self._slots[following], number))
        )


def _near_enough(newer: OffsetPair, older: OffsetPair, newer_slot: int, older_slot: int) -> bool:
    return newer.source <= older.source + (1 << older_slot) - (1 << newer_slot)


def _far_enough(newer: OffsetPair, older: OffsetPair, newer_slot: int) -> bool:
    return newer == older or newer.source >= older.source + (1 << max(newer_slot - 2, 0))
