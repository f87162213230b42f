"""Aligns the two copies of a partition: blocks of records that are equal one by one, and the unmatched records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from copy_audit.fingerprints import ArrayPair, Longs, RecordLog, among
from copy_audit.unmatched import Ancestry, UnmatchedRecords
from kafka_dr.audit.alignment import aligned
from kafka_dr.audit.offset_runs import OffsetRun, joined

_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class AlignedPartition:
    """The records of one partition on both clusters, aligned.

    :param blocks: a row for each block of equal records: its first index on the source, that on the target, its length
    """

    partition: int
    source: RecordLog
    target: RecordLog
    blocks: Longs

    @property
    def matched(self) -> int:
        """How many records are matched."""
        return int(self.blocks[:, 2].sum())

    @property
    def tail(self) -> int:
        """The number of the gap after the last block."""
        return len(self.blocks)

    @property
    def tail_indexes(self) -> tuple[int, int]:
        """Where the tail begins on source and target: after the last record that was matched."""
        if not len(self.blocks):
            return 0, 0
        source, target, length = self.blocks[-1]
        return int(source + length), int(target + length)

    @property
    def matched_until(self) -> int | None:
        """The source's offset after the last matched record; ``None`` if no record was matched."""
        after, _ = self.tail_indexes
        return int(self.source.offsets[after - 1]) + 1 if after else None

    def unmatched_source(self) -> UnmatchedRecords:
        """Return the records of the source that were not matched."""
        starts = self.blocks[:, 0]
        return UnmatchedRecords(
            self.partition, self.source, _between(starts, self.blocks[:, 2], len(self.source)), starts
        )

    def unmatched_target(self) -> UnmatchedRecords:
        """Return the records of the target that were not matched."""
        starts = self.blocks[:, 1]
        return UnmatchedRecords(
            self.partition, self.target, _between(starts, self.blocks[:, 2], len(self.target)), starts
        )

    def gap_at(self, source_offset: int) -> int:
        """Return the gap in which an offset of the source is that has no record; -1 inside of a block."""
        index = int(self.source.index_of(source_offset))
        gap = int(np.searchsorted(self.blocks[:, 0], index))
        inside = gap > 0 and index < self.blocks[gap - 1, 0] + self.blocks[gap - 1, 2]
        return -1 if inside else gap

    def runs(self) -> list[OffsetRun]:
        """Return the offset map of the matched records."""
        return joined([run for stretch in self._stretches() for run in self._runs_of(*stretch)])

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        """Yield the blocks in parts, so that long ones need no more memory."""
        for source, target, length in self.blocks.tolist():
            for done in range(0, length, _AT_ONCE):
                yield source + done, target + done, min(_AT_ONCE, length - done)

    def _runs_of(self, source: int, target: int, length: int) -> list[OffsetRun]:
        on_source = self.source.breaks(source, source + length) - source
        on_target = self.target.breaks(target, target + length) - target
        starts = np.concatenate(([0], np.union1d(on_source, on_target)))
        lengths = np.diff(np.concatenate((starts, [length])))
        offsets = self.source.offsets[starts + source], self.target.offsets[starts + target]
        rows = zip(*(column.tolist() for column in (*offsets, lengths)), strict=True)
        return [OffsetRun(*row) for row in rows]


def compare(partition: int, source: RecordLog, target: RecordLog) -> AlignedPartition:
    """Align the records of one partition."""
    blocks = list(aligned(ArrayPair(source.hashes[:], target.hashes[:])))
    return AlignedPartition(partition, source, target, np.array(blocks, np.int64).reshape(-1, 3))


def find_ancestors(comparisons: Sequence[AlignedPartition], partitions: Longs, hashes: Longs) -> Ancestry:
    """Find which records of the source have these hashes: of the same partition if possible, and of several the first.

    :param partitions: of the records to look up
    :param hashes: of the same records
    """
    wanted, number = np.unique(hashes, return_inverse=True)
    firsts = ((each.partition, _first_offsets(each.source, wanted)) for each in comparisons)
    return nearest(firsts, partitions, number)


def nearest(firsts: Iterable[tuple[int, Longs]], partitions: Longs, number: Longs) -> Ancestry:
    """Choose of the first records with some hashes one for each record: of its own partition, or of the first one.

    :param firsts: partitions, rising, and the offset of the first record with each hash there, or -1
    :param partitions: of the records
    :param number: of their hashes
    """
    found, anywhere = Ancestry.unknown(len(number)), Ancestry.unknown(int(number.max(initial=-1)) + 1)
    for partition, offsets in firsts:
        first = np.flatnonzero((offsets >= 0) & (anywhere.offsets < 0))
        anywhere.put(first, partition, offsets[first])
        own = np.flatnonzero((partitions == partition) & (offsets[number] >= 0))
        found.put(own, partition, offsets[number[own]])
    left = found.missing
    found.put(left, anywhere.partitions[number[left]], anywhere.offsets[number[left]])
    return found


def _first_offsets(log: RecordLog, wanted: Longs) -> Longs:
    """Return the offset of the first record with each of these hashes; -1 if there is none."""
    offsets = np.full(len(wanted), -1, np.int64)
    indexes = _holding(log.hashes[:], wanted)
    numbers, first = np.unique(np.searchsorted(wanted, log.hashes[indexes]), return_index=True)
    offsets[numbers] = log.offsets[indexes[first]]
    return offsets


def latest_offsets(log: RecordLog, keys: Longs) -> Mapping[int, int]:
    """Return the offset of the newest record of each of these keys that the log holds; tombstones count."""
    if log.keys is None or not len(keys):
        return {}
    plain = log.keys >> 1
    indexes = _holding(plain, np.unique(keys >> 1))
    return dict(zip(plain[indexes].tolist(), log.offsets[indexes].tolist(), strict=True))


def _holding(values: Longs, wanted: Longs) -> Longs:
    """Return the indexes of values that are wanted. Mostly few are, and their lowest bits alone rule out most others.

    :param wanted: rising
    """
    if not len(wanted) or not len(values):
        return np.empty(0, np.int64)
    # Large enough to rule out most, and as small as that allows: it is looked into for each value.
    lowest = (1 << min(max(16, len(wanted).bit_length() + 4), 26)) - 1
    mask = np.zeros(lowest + 1, np.bool_)
    mask[wanted & lowest] = True
    found = []
    for start in range(0, len(values), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        candidates = np.flatnonzero(mask[part & lowest])
        found.append(candidates[among(part[candidates], wanted)] + start)
    return np.concatenate(found)


def _between(starts: Longs, lengths: Longs, end: int) -> Longs:
    """Return the indexes that no block covers."""
    begins = np.concatenate(([0], starts + lengths))
    counts = np.concatenate((starts, [end])) - begins
    unmatched: Longs = np.arange(counts.sum()) + np.repeat(begins - np.cumsum(counts) + counts, counts)
    return unmatched
