"""Records that were not matched in order, as arrays: there may be as many as a topic has, and most are never looked at
one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from copy_audit.fingerprints import Longs, RecordLog
from kafka_dr.audit.difference import UnmatchedRecord

#: How many numbers are sorted at once (a power of 2). If there are more, those with the same lowest bits are.
_AT_ONCE_BITS = 22
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class UnmatchedRecords:
    """Those of one partition on one cluster.

    :param indexes: in the log, rising
    :param starts: the indexes in the log at which the blocks of matched records begin
    """

    partition: int
    log: RecordLog
    indexes: Longs
    starts: Longs

    def __len__(self) -> int:
        return len(self.indexes)

    @property
    def hashes(self) -> Longs:
        """The hash of each record."""
        return self.log.hashes[self.indexes]

    @property
    def offsets(self) -> Longs:
        """The offset of each."""
        return self.log.offsets[self.indexes]

    @property
    def timestamps(self) -> Longs:
        """When each was made, in milliseconds since the epoch."""
        return self.log.timestamps[self.indexes]

    @property
    def gaps(self) -> Longs:
        """The gap that each record is in."""
        return np.searchsorted(self.starts, self.indexes)

    @property
    def bounds(self) -> Longs:
        """The first row of each gap, and the end."""
        return np.concatenate(([0], np.searchsorted(self.indexes, self.starts), [len(self)]))

    def at(self, rows: slice | Longs) -> UnmatchedRecords:
        """Return some of them."""
        return UnmatchedRecords(self.partition, self.log, self.indexes[rows], self.starts)

    def without(self, rows: Longs) -> UnmatchedRecords:
        """Return the others."""
        if not len(rows):
            return self
        kept = np.ones(len(self), np.bool_)
        kept[rows] = False
        return self.at(np.flatnonzero(kept))

    def other_than(self, indexes: Longs) -> UnmatchedRecords:
        """Return the records at other indexes than these."""
        return self.without(np.flatnonzero(np.isin(self.indexes, indexes, assume_unique=True)))

    def since(self, offset: int) -> UnmatchedRecords:
        """Return the records from an offset on."""
        first = int(self.log.index_of(offset))
        return self.at(slice(int(np.searchsorted(self.indexes, first)), None))

    def before(self, offset: int) -> UnmatchedRecords:
        """Return the records up to an offset, which is the next one."""
        after = int(self.log.index_of(offset))
        return self.at(slice(None, int(np.searchsorted(self.indexes, after))))

    def record(self, row: int) -> UnmatchedRecord:
        """Return one record."""
        index = int(self.indexes[row])
        gap = int(np.searchsorted(self.starts, index))
        log = self.log
        return UnmatchedRecord(
            self.partition, index, gap, int(log.offsets[index]), int(log.timestamps[index]), int(log.hashes[index])
        )

    def records(self) -> list[UnmatchedRecord]:
        """Return all records; only for a few."""
        columns = (self.indexes, self.gaps, self.offsets, self.timestamps, self.hashes)
        return [
            UnmatchedRecord(self.partition, *row) for row in zip(*(column.tolist() for column in columns), strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class UnmatchedTopic:
    """Those of all partitions of a topic on one cluster, with consecutive row numbers."""

    parts: tuple[UnmatchedRecords, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def bounds(self) -> list[int]:
        """The first row of each partition, and the end."""
        return [0, *accumulate(map(len, self.parts))]

    @property
    def numbers(self) -> Longs:
        """The number of the partition's part, for each row."""
        return np.repeat(np.arange(len(self.parts)), [len(part) for part in self.parts])

    @property
    def indexes(self) -> Longs:
        """The index of each row in the log of its partition."""
        return _joined([part.indexes for part in self.parts])

    @property
    def hashes(self) -> Longs:
        """The hash of each row."""
        return _joined([part.hashes for part in self.parts])

    def record(self, row: int) -> UnmatchedRecord:
        """Return one record."""
        bounds = self.bounds
        number = bisect_right(bounds, row) - 1
        return self.parts[number].record(row - bounds[number])

    def between(self, start: int, end: int) -> list[UnmatchedRecords]:
        """Return the records of some rows by partition, without partitions that have none."""
        pieces = (
            part.at(slice(max(0, start - first), max(0, end - first)))
            for part, first in zip(self.parts, self.bounds, strict=False)
        )
        return [piece for piece in pieces if len(piece)]

    def without(self, rows: Longs) -> UnmatchedTopic:
        """Return the others."""
        if not len(rows):
            return self
        rows, bounds = np.sort(rows), self.bounds
        cuts = np.searchsorted(rows, bounds)
        return UnmatchedTopic(
            tuple(
                part.without(rows[cuts[number] : cuts[number + 1]] - bounds[number])
                for number, part in enumerate(self.parts)
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ancestry:
    """The offsets of records of the source that have the same content as other records; -1 if there is none.

    :param partitions: one for each record that was looked up
    :param offsets: the same
    """

    partitions: Longs
    offsets: Longs

    @classmethod
    def unknown(cls, count: int) -> Ancestry:
        """Return that this many records have no ancestor."""
        return cls(np.full(count, -1, np.int64), np.full(count, -1, np.int64))

    @property
    def known(self) -> Longs:
        """The rows that have an ancestor."""
        return np.flatnonzero(self.offsets >= 0)

    @property
    def missing(self) -> Longs:
        """The rows that have no ancestor."""
        return np.flatnonzero(self.offsets < 0)

    def at(self, rows: Longs) -> Ancestry:
        """Return the ancestry of some rows."""
        return Ancestry(self.partitions[rows], self.offsets[rows])

    def put(self, rows: Longs, partitions: Longs | int, offsets: Longs) -> None:
        """Set the ancestors of some rows."""
        self.partitions[rows] = partitions
        self.offsets[rows] = offsets


#: Finds, for records of the target by partition and hash, which records of the source have the same hash: of the same
#: partition if possible, and of several the first.
Ancestors = Callable[[Longs, Longs], Ancestry]


def nowhere(hashes: Longs) -> Ancestry:
    """Return that none of these hashes has an ancestor."""
    return Ancestry.unknown(len(hashes))


def paired(source: Longs, target: Longs) -> tuple[Longs, Longs]:
    """Pair equal numbers, the first with the first; return the rows of source and target, rising on the target."""
    parts = 1 << (max(len(source), len(target)) >> _AT_ONCE_BITS).bit_length()
    rows = [_paired((source, _rows_of(source, parts, n)), (target, _rows_of(target, parts, n))) for n in range(parts)]
    source_rows, target_rows = (np.concatenate(found) for found in zip(*rows, strict=True))
    order = np.argsort(target_rows)
    return source_rows[order], target_rows[order]


def _rows_of(values: Longs, parts: int, number: int) -> Longs:
    return np.arange(len(values)) if parts == 1 else np.flatnonzero((values & (parts - 1)) == number)


def _paired(of_source: tuple[Longs, Longs], of_target: tuple[Longs, Longs]) -> tuple[Longs, Longs]:
    """Pair some rows.

    :param of_source: the numbers of the source, and some of their rows
    :param of_target: the numbers of the target, and some of their rows
    """
    (source, target), (source_rows, target_rows) = zip(of_source, of_target, strict=True)
    source_rows = source_rows[np.argsort(source[source_rows], kind="stable")]
    target_rows = target_rows[np.argsort(target[target_rows], kind="stable")]
    values, wanted = source[source_rows], target[target_rows]
    first, after = np.searchsorted(values, wanted), np.searchsorted(values, wanted, "right")
    partner = first + np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    has_one = partner < after
    return source_rows[partner[has_one]], target_rows[has_one]


def _joined(columns: Sequence[Longs]) -> Longs:
    return columns[0] if len(columns) == 1 else np.concatenate([_NO_ROWS, *columns])
