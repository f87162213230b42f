"""What compaction may remove: the one rule for everything that compares the records of a compacted topic.

The cleaner of a cluster removes a record if that cluster has a newer one of the same key, and later also a record that
deletes its key, if nothing is left to delete. Each record that it removes leaves a hole in the offsets: without a hole
the record was never on that cluster, whatever its key. The newest record of each key stays. Cleaners of two clusters
work at different moments, so each cluster may lack records that the other one still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from kafka_dr.audit.alignment import Block
from kafka_dr.positions import OffsetRange

#: The topic setting that decides whether a cluster compacts it, and the part of its value that says so.
CLEANUP, _COMPACT = "cleanup.policy", "compact"


def compacts(policy: str | None) -> bool:
    """Return whether a value of the setting means compaction."""
    return _COMPACT in (policy or "")


def compacted_topics(*clusters: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """Return the topics that one of the clusters compacts.

    :param clusters: of each, settings by topic, as it returns them
    """
    return frozenset(
        topic for configs in clusters for topic, config in configs.items() if compacts(config.get(CLEANUP))
    )


class Removable(Enum):
    """Whether compaction may have removed the counterpart of a record.

    ``IF_DELETED``: only if the other cluster holds no value of its key from before what was compared.
    """

    YES = "yes"
    NO = "no"
    IF_DELETED = "if deleted"


def removable(
    offset: int, *, deletes: bool, newest_here: int, newest_there: int | None, next_there: int, faced: bool
) -> Removable:
    """Return whether compaction may have removed the counterpart of a record from the cluster that lacks it.

    The newer record may be one that only the cluster with the record has. That one is judged by itself: it is lost, in
    flight, or a deletion that was removed. The record that it replaced is missed by nobody.

    :param offset: *of* the record, on the cluster that has it
    :param deletes: whether it deletes its key
    :param newest_here: offset *of* the newest record of its key, on the cluster that has it
    :param newest_there: the same on the other cluster; ``None`` if that has no record of the key
    :param next_there: offset from which on the other cluster's records are later ones. A record before it that has the
        key may be this very record, changed
    :param faced: whether such a record has no counterpart either. A cleaner that removes a record removes all older
        ones of its key, too, so no two cleaners leave that
    """
    if faced:
        return Removable.NO
    if newest_here > offset or (newest_there is not None and newest_there >= next_there):
        return Removable.YES
    return Removable.IF_DELETED if deletes and newest_there is None else Removable.NO


class KeyedRecord(NamedTuple):
    """A record, as compaction sees it.

    :param key: its key, or a digest of it; ``None`` if it has none
    :param deletes: whether it deletes its key
    """

    offset: int
    key: Hashable | None
    deletes: bool


@dataclass(frozen=True, slots=True)
class KeyedLog:
    """What was read of a partition on one cluster."""

    records: Sequence[KeyedRecord]
    read: OffsetRange


class Gap(NamedTuple):
    """What is between two blocks of equal records: indexes of records that only one cluster has.

    :param holes: how many offsets of it have no record, on source and target
    :param next: offsets of the first records after it, or the ends of what was read, on source and target
    """

    unmatched: tuple[range, range]
    holes: tuple[int, int]
    next: tuple[int, int]


#: The source, or the target, of a pair.
Side = Literal[0, 1]
#: Returns of which of these keys a cluster holds a value from before what was compared.
Living = Callable[[Side, Collection[Hashable]], Collection[Hashable]]


def none_living(_cluster: Side, _keys: Collection[Hashable]) -> Collection[Hashable]:
    """What to use where nothing was before, or nobody looks."""
    return ()


@dataclass(frozen=True, slots=True)
class KeyedPair:
    """Two logs that are aligned.

    :param blocks: of equal records, rising
    """

    logs: tuple[KeyedLog, KeyedLog]
    blocks: Sequence[Block]
    _newest: tuple[dict[Hashable, int], dict[Hashable, int]] = field(default_factory=lambda: ({}, {}))

    def __post_init__(self) -> None:
        for side in (0, 1):
            self.learn(side, self.logs[side].records)

    def learn(self, side: Side, records: Iterable[KeyedRecord]) -> None:
        """Take in records of a cluster that follow those that are known of it."""
        self._newest[side].update((record.key, record.offset) for record in records if record.key is not None)

    def gaps(self) -> Iterator[Gap]:
        """Yield what is before each block, and after the last one."""
        ends: tuple[int, int] = (0, 0)
        offsets = self.logs[0].read.start, self.logs[1].read.start
        for block in (*self.blocks, None):
            begins = (block.source, block.target) if block else (len(self.logs[0].records), len(self.logs[1].records))
            after = self._next(0, block and block.source), self._next(1, block and block.target)
            ranges = range(ends[0], begins[0]), range(ends[1], begins[1])
            holes = after[0] - offsets[0] - len(ranges[0]), after[1] - offsets[1] - len(ranges[1])
            yield Gap(ranges, holes, after)
            if block:
                ends = begins[0] + block.length, begins[1] + block.length
                offsets = self._after(0, ends[0]), self._after(1, ends[1])

    def explained(self, gap: Gap, side: Side, living: Living, among: Collection[int] | None = None) -> list[int]:
        """Return the indexes of a gap's records of one cluster that compaction may have removed from the other one.

        :param living: asked only about deletions of whose key the other cluster has no record
        :param among: the indexes that are left to explain; ``None``: all
        """
        other: Side = 1 if side == 0 else 0
        found = [each for each in self._answers(gap, side) if among is None or each[0] in among]
        asked = {key for _, key, answer in found if answer is Removable.IF_DELETED}
        alive = set(living(other, asked)) if asked else set()
        chosen = [
            index
            for index, key, answer in found
            if answer is Removable.YES or (answer is Removable.IF_DELETED and key not in alive)
        ]
        return chosen if gap.holes[other] >= len(chosen) else []

    def left_to_ask(self, gap: Gap, side: Side) -> Iterator[tuple[Hashable, Removable]]:
        """Yield the keys of a gap's records that nothing is known to replace."""
        return ((key, answer) for _, key, answer in self._answers(gap, side) if answer is not Removable.YES)

    def _answers(self, gap: Gap, side: Side) -> Iterator[tuple[int, Hashable, Removable]]:
        other = 1 - side
        facing = {self.logs[other].records[index].key for index in gap.unmatched[other]}
        for index in gap.unmatched[side]:
            offset, key, deletes = self.logs[side].records[index]
            if key is not None:
                yield (
                    index,
                    key,
                    removable(
                        offset,
                        deletes=deletes,
                        newest_here=self._newest[side][key],
                        newest_there=self._newest[other].get(key),
                        next_there=gap.next[other],
                        faced=key in facing,
                    ),
                )

    def _next(self, side: Side, index: int | None) -> int:
        log = self.logs[side]
        return log.read.end if index is None else log.records[index].offset

    def _after(self, side: Side, index: int) -> int:
        return self.logs[side].records[index - 1].offset + 1
