"""Comparing both sides of a partition: blocks of records that are each other's copy, and what is loose between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kafka_dr.audit.alignment import aligned
from kafka_dr.audit.difference import Ancestor, Loose
from kafka_dr.audit.offset_runs import OffsetRun, joined
from kafka_dr_spark.logs import ArrayPair, Log, Longs

_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Both sides of one partition, aligned.

    :param blocks: a row for each block: its first place on the source, that on the target, and its length
    """

    partition: int
    source: Log
    target: Log
    blocks: Longs

    @property
    def matched(self) -> int:
        """How many records are matched."""
        return int(self.blocks[:, 2].sum())

    @property
    def tail(self) -> int:
        """The number of the gap behind the last block."""
        return len(self.blocks)

    @property
    def tail_places(self) -> tuple[int, int]:
        """Where the tail begins, on the source and on the target: behind the last record that was matched."""
        if not len(self.blocks):
            return 0, 0
        source, target, length = self.blocks[-1]
        return int(source + length), int(target + length)

    def source_loose(self) -> Longs:
        """Return the places on the source that were not matched."""
        return _between(self.blocks[:, 0], self.blocks[:, 2], len(self.source))

    def target_loose(self) -> Longs:
        """Return the places on the target that were not matched."""
        return _between(self.blocks[:, 1], self.blocks[:, 2], len(self.target))

    def source_records(self, places: Longs) -> list[Loose]:
        """Return the loose records at these places of the source."""
        return _records(self.partition, self.source, places, self.blocks[:, 0])

    def target_records(self, places: Longs) -> list[Loose]:
        """Return the loose records at these places of the target."""
        return _records(self.partition, self.target, places, self.blocks[:, 1])

    def gap_at(self, source_offset: int) -> int:
        """Return the gap in which an offset of the source lies that no record has; -1 inside of a block."""
        place = int(np.searchsorted(self.source.offsets, source_offset))
        gap = int(np.searchsorted(self.blocks[:, 0], place))
        inside = gap > 0 and place < self.blocks[gap - 1, 0] + self.blocks[gap - 1, 2]
        return -1 if inside else gap

    def target_gap_at(self, target_offset: int) -> int:
        """The same for an offset of the target."""
        place = int(np.searchsorted(self.target.offsets, target_offset))
        gap = int(np.searchsorted(self.blocks[:, 1], place))
        inside = gap > 0 and place < self.blocks[gap - 1, 1] + self.blocks[gap - 1, 2]
        return -1 if inside else gap

    def runs(self) -> list[OffsetRun]:
        """Return the offset map of what is matched."""
        return joined([run for stretch in self._stretches() for run in self._runs_of(*stretch)])

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        """Yield the blocks in parts, so that no more memory is needed however long they are."""
        for source, target, length in self.blocks.tolist():
            for done in range(0, length, _AT_ONCE):
                yield source + done, target + done, min(_AT_ONCE, length - done)

    def _runs_of(self, source: int, target: int, length: int) -> list[OffsetRun]:
        here, there = self.source.offsets[source : source + length], self.target.offsets[target : target + length]
        breaks = np.flatnonzero((np.diff(here) != 1) | (np.diff(there) != 1)) + 1
        starts = np.concatenate(([0], breaks))
        lengths = np.diff(np.concatenate((starts, [length])))
        rows = zip(here[starts].tolist(), there[starts].tolist(), lengths.tolist(), strict=True)
        return [OffsetRun(*row) for row in rows]


def compare(partition: int, source: Log, target: Log) -> Comparison:
    """Align both sides of a partition."""
    blocks = list(aligned(ArrayPair(source.hashes, target.hashes)))
    return Comparison(partition, source, target, np.array(blocks, np.int64).reshape(-1, 3))


def find_ancestors(comparisons: Sequence[Comparison], records: Sequence[Loose]) -> dict[int, Ancestor]:
    """Find which records of the source have the same hashes as records of the target: in the same partition if any is,
    and of several the first.
    """
    wanted = np.unique(np.array([record.hash for record in records], np.int64))
    found: dict[int, Ancestor] = {}
    of_partition: dict[tuple[int, int], Ancestor] = {}
    for comparison in comparisons:
        for place in _holding(comparison.source.hashes, wanted).tolist():
            ancestor = Ancestor(comparison.partition, int(comparison.source.offsets[place]))
            found.setdefault(int(comparison.source.hashes[place]), ancestor)
            of_partition.setdefault((comparison.partition, int(comparison.source.hashes[place])), ancestor)
    for record in records:
        own = of_partition.get((record.partition, record.hash))
        if own is not None:
            found[record.hash] = own
    return found


def latest_offsets(log: Log, keys: Longs) -> Mapping[int, int]:
    """Return the offset of the newest record of each of these keys that the log holds; tombstones count."""
    if log.keys is None or not len(keys):
        return {}
    plain = log.keys >> 1
    places = _holding(plain, np.unique(keys >> 1))
    return dict(zip(plain[places].tolist(), log.offsets[places].tolist(), strict=True))


def _holding(values: Longs, wanted: Longs) -> Longs:
    """Return the places of values that are wanted; few are, so most are ruled out by their lowest bits alone."""
    if not len(wanted) or not len(values):
        return np.empty(0, np.int64)
    mask = np.zeros(1 << 16, np.bool_)
    mask[wanted & 0xFFFF] = True
    candidates = np.flatnonzero(mask[values & 0xFFFF])
    return candidates[np.isin(values[candidates], wanted)]


def _between(starts: Longs, lengths: Longs, end: int) -> Longs:
    """Return the places that no block covers."""
    loose = np.ones(end, np.bool_)
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        loose[start : start + length] = False
    return np.flatnonzero(loose)


def _records(partition: int, log: Log, places: Longs, starts: Longs) -> list[Loose]:
    gaps = np.searchsorted(starts, places)
    keys = [None] * len(places) if log.keys is None else log.keys[places].tolist()
    columns = (places, gaps, log.offsets[places], log.timestamps[places], log.hashes[places])
    rows = zip(*(column.tolist() for column in columns), keys, strict=True)
    return [Loose(partition, *row) for row in rows]
