"""The fingerprints of one partition as arrays, and two arrays as a pair that can be aligned."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kafka_dr.audit.alignment import IndexedHashes
from kafka_dr.audit.copies import NO_TIMESTAMP

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Records of one topic and cluster. If there are more, the arrays are files.
MOST_IN_MEMORY = 16_000_000
_FIRST_STRETCH, _LONGEST_STRETCH = 1 << 10, 1 << 20


class NumberColumn(Protocol):
    """A number for each record of a log, by its index."""

    def __getitem__(self, at: Longs | slice | int, /) -> Longs:
        """Return some of them."""
        ...


class RecordLog(Protocol):
    """Records of one partition on one cluster, each with its index, by rising offset.

    Whatever is asked of it may be in memory or not: :class:`Fingerprints` hold every record, and a
    :class:`~copy_audit.sparse_log.SparseLog` those that were not matched.
    """

    @property
    def offsets(self) -> NumberColumn:
        """Of the records."""
        ...

    @property
    def timestamps(self) -> NumberColumn:
        """Milliseconds since the epoch."""
        ...

    @property
    def hashes(self) -> NumberColumn:
        """Of all that a copy has to keep."""
        ...

    @property
    def keys(self) -> Longs | None:
        """On compacted topics, a number for each key."""
        ...

    def __len__(self) -> int: ...

    def index_of(self, offsets: Longs | Sequence[int] | int) -> Longs:
        """Return for each offset, next to read, the index of the first record from there on."""
        ...

    def breaks(self, start: int, end: int) -> Longs:
        """Return the indexes between two at which the offset is not the one after that of the record before."""
        ...

    def at(self, indexes: Longs) -> Fingerprints:
        """Return the records at these indexes."""
        ...

    def below(self, offset: int) -> Fingerprints:
        """Return those before an offset of the records that the log holds."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """The fingerprints of the records of one partition on one cluster, by rising offset.

    :param timestamps: milliseconds since the epoch
    :param keys: on compacted topics, a number for the key: see :data:`kafka_dr_spark.fingerprints`
    """

    offsets: Longs
    timestamps: Longs
    hashes: Longs
    keys: Longs | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def joined(cls, parts: Sequence[Fingerprints], *, most_in_memory: int = MOST_IN_MEMORY) -> Fingerprints:
        """Join parts that were read in any order; mostly each part is a range of its own.

        :param most_in_memory: records; if there are more, the arrays are files
        """
        filled = sorted((part for part in parts if len(part)), key=lambda part: int(part.offsets[0]))
        if len(filled) == 1:
            return filled[0].rising()
        total = sum(map(len, filled))
        if total > most_in_memory:
            spool = Spool(total)
            for part in filled:
                spool.add(part)
            return spool.log().rising()
        if not filled:
            return cls(*(np.empty(0, np.int64) for _ in range(3)))
        keys = [part.keys for part in filled if part.keys is not None]
        log = cls(
            np.concatenate([part.offsets for part in filled]),
            np.concatenate([part.timestamps for part in filled]),
            np.concatenate([part.hashes for part in filled]),
            np.concatenate(keys) if len(keys) == len(filled) else None,
        )
        return log.rising()

    def dated(self) -> Fingerprints:
        """Return the same with a time for each record: of one that has none that of the record before it, or the next.

        It says since when a record waits, and is no part of its hash.
        """
        has_time = self.timestamps != NO_TIMESTAMP
        if has_time.all() or not has_time.any():
            return self
        nearest = np.maximum.accumulate(np.where(has_time, np.arange(len(self)), 0))
        nearest = np.maximum(nearest, int(has_time.argmax()))
        return Fingerprints(self.offsets, self.timestamps[nearest], self.hashes, self.keys)

    def rising(self) -> Fingerprints:
        """Return the same by rising offset; mostly this is the same object."""
        for start in range(0, len(self), _LONGEST_STRETCH):
            if not (np.diff(self.offsets[start : start + _LONGEST_STRETCH + 1]) > 0).all():
                return self.at(np.argsort(self.offsets))
        return self

    def at(self, indexes: Longs) -> Fingerprints:
        """Return the records at these indexes."""
        keys = None if self.keys is None else self.keys[indexes]
        return Fingerprints(self.offsets[indexes], self.timestamps[indexes], self.hashes[indexes], keys)

    def without(self, stretches: Sequence[tuple[int, int]]) -> Fingerprints:
        """Return the records outside of these ranges of offsets: the first, and next after the last."""
        parts, start = [], 0
        for first, after in sorted(stretches):
            cut, continued = np.searchsorted(self.offsets, [first, after]).tolist()
            if continued > max(start, cut):
                parts.append(self._between(start, max(start, cut)))
                start = continued
        return Fingerprints.joined([*parts, self._between(start, len(self))]) if parts else self

    def index_of(self, offsets: Longs | Sequence[int] | int) -> Longs:
        """Return for each offset, next to read, the index of the first record from there on."""
        return np.searchsorted(self.offsets, offsets)

    def breaks(self, start: int, end: int) -> Longs:
        """Return the indexes between two at which the offset is not the one after that of the record before."""
        return np.flatnonzero(np.diff(self.offsets[start:end]) != 1) + start + 1

    def since(self, offset: int) -> Fingerprints:
        """Return the records from an offset on."""
        return self._between(int(self.index_of(offset)), len(self))

    def below(self, offset: int) -> Fingerprints:
        """Return the records before an offset."""
        return self._between(0, int(self.index_of(offset)))

    def _between(self, start: int, end: int) -> Fingerprints:
        keys = None if self.keys is None else self.keys[start:end]
        return Fingerprints(self.offsets[start:end], self.timestamps[start:end], self.hashes[start:end], keys)


NOTHING = Fingerprints.joined([])


class Spool:
    """Fingerprints that are written to files without a name, part by part: memory is bounded, whatever the volume.

    The files are deleted with the object.
    """

    def __init__(self, total: int) -> None:
        self._columns = [_in_a_file(total) for _ in range(4)]
        self._index, self._keyed = 0, True

    def add(self, part: Fingerprints) -> None:
        """Write the next part."""
        if not len(part):
            return  # whether it would have had keys is not known
        end = self._index + len(part)
        for column, values in zip(self._columns, (part.offsets, part.timestamps, part.hashes, part.keys), strict=True):
            if values is not None:
                column[self._index : end] = values
        self._keyed = self._keyed and part.keys is not None
        self._index = end

    def log(self) -> Fingerprints:
        """Return what was written."""
        offsets, timestamps, hashes, keys = (column[: self._index] for column in self._columns)
        return Fingerprints(offsets, timestamps, hashes, keys if self._keyed else None)


def _in_a_file(length: int) -> Longs:
    """Return an array in a file without a name, which is deleted with the array."""
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.int64, "w+", shape=(length,))


class ArrayPair:
    """The hashes of one partition on source and target."""

    def __init__(self, source: Longs, target: Longs) -> None:
        self._source = source
        self._target = target

    @property
    def lengths(self) -> tuple[int, int]:
        """How many records the source and the target have."""
        return len(self._source), len(self._target)

    def in_step(self, source: int, target: int) -> int:
        """Return how many records are equal one by one from these indexes on."""
        most = min(len(self._source) - source, len(self._target) - target)
        length, stretch = 0, _FIRST_STRETCH
        while length < most:
            on_source = self._source[source + length : source + min(most, length + stretch)]
            on_target = self._target[target + length : target + min(most, length + stretch)]
            differs = on_source != on_target
            first = int(differs.argmax())
            if differs[first]:
                return length + first
            length += len(on_source)
            stretch = min(stretch * 4, _LONGEST_STRETCH)
        return length

    def shared(self, source: range, target: range, most: int | None = None) -> tuple[IndexedHashes, IndexedHashes]:
        """Return the records of two windows whose hashes occur in both; of each window only the first ``most``."""
        on_source, on_target = self._source[source.start : source.stop], self._target[target.start : target.stop]
        return _kept(on_source, on_target, source.start, most), _kept(on_target, on_source, target.start, most)


def _kept(hashes: Longs, others: Longs, start: int, most: int | None) -> IndexedHashes:
    indexes = np.flatnonzero(among(hashes, np.sort(others)))[:most]
    return IndexedHashes((indexes + start).tolist(), hashes[indexes].tolist())


def runs(in_a_row: Flags) -> Iterator[tuple[int, int]]:
    """Yield the first row of each run, and its length.

    :param in_a_row: of each row but the first, whether it continues the row before
    """
    starts = np.concatenate(([0], np.flatnonzero(~in_a_row) + 1))
    lengths = np.diff(np.concatenate((starts, [len(in_a_row) + 1])))
    return zip(starts.tolist(), lengths.tolist(), strict=True)


def among(values: Longs, wanted: Longs) -> Flags:
    """Return of each value whether it is wanted.

    :param wanted: rising
    """
    if not len(wanted):
        return np.zeros(len(values), np.bool_)
    found: Flags = wanted[np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)] == values
    return found
