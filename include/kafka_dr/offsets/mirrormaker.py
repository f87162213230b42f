"""What MirrorMaker 2 itself would make of a group's position, so that its answer can stand beside ours.

Its checkpoint task keeps at most 64 syncs of a partition in memory, the farther from the newest the fewer, and goes one
behind the nearest one below the position. This is that rule, fed with the archive instead of the topic: what a task
knows that never restarted. One that did may know less, as the topic is compacted: MirrorMaker does this well at best.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.offsets.archive import ArchivedSync
from kafka_dr.positions import OffsetPair

_SLOTS = 64


class CheckpointRule:
    """The syncs of one partition, as a checkpoint task that never restarted holds them.

    :param syncs: in the order in which they were written
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
        """Return its answer for a position; both are next to read.

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
