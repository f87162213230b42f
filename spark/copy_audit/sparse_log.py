"""One partition on one cluster of which tasks matched most records: the others are held, and all offsets are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs, NumberColumn


@dataclass(frozen=True, slots=True, eq=False)
class SparseLog:
    """The log, as stretches of consecutive offsets.

    :param first_offsets: of the stretches, rising
    :param first_indexes: of the same stretches, and how many records the log has
    :param kept: the records that were not matched
    :param kept_indexes: of these records, rising
    :param time_of: returns when the record of an offset was made, in milliseconds since the epoch, if it is not kept
    """

    first_offsets: Longs
    first_indexes: Longs
    kept: Fingerprints
    kept_indexes: Longs
    time_of: Callable[[int], int]

    @classmethod
    def of(cls, runs: Longs, kept: Fingerprints, time_of: Callable[[int], int]) -> SparseLog:
        """Return a log.

        :param runs: a row for each run of matched records: the offset of its first one, and its length
        """
        heads = np.concatenate((np.zeros(min(len(kept), 1), np.int64), kept.breaks(0, len(kept))))
        first_offsets = np.concatenate((runs[:, 0], kept.offsets[heads]))
        lengths = np.concatenate((runs[:, 1], np.diff(heads, append=len(kept))))
        order = np.argsort(first_offsets)
        first_indexes = np.concatenate(([0], np.cumsum(lengths[order])))
        log = cls(first_offsets[order], first_indexes, kept, np.empty(0, np.int64), time_of)
        return cls(log.first_offsets, first_indexes, kept, log.index_of(kept.offsets), time_of)

    def __len__(self) -> int:
        return int(self.first_indexes[-1])

    @property
    def keys(self) -> None:
        """None are known: tasks compare no compacted topic."""
        return

    @property
    def offsets(self) -> NumberColumn:
        """Of all records."""
        return _Computed(len(self), self._offsets_at)

    @property
    def timestamps(self) -> NumberColumn:
        """Milliseconds since the epoch."""
        return _Computed(len(self), self._times_at)

    @property
    def hashes(self) -> NumberColumn:
        """Of the records that are kept."""
        return _Computed(len(self), lambda indexes: self.at(indexes).hashes)

    def index_of(self, offsets: Longs | Sequence[int] | int) -> Longs:
        """Return for each offset, next to read, the index of the first record from there on."""
        wanted = np.asarray(offsets, np.int64)
        if not len(self.first_offsets):
            return np.zeros_like(wanted)
        stretch = np.searchsorted(self.first_offsets, wanted, "right") - 1
        first, after = self.first_indexes[stretch], self.first_indexes[stretch + 1]
        return np.where(stretch < 0, 0, np.minimum(first + wanted - self.first_offsets[stretch], after))

    def breaks(self, start: int, end: int) -> Longs:
        """Return the indexes between two at which the offset is not the one after that of the record before."""
        found = slice(*np.searchsorted(self.first_indexes[:-1], (start + 1, max(start + 1, end))).tolist())
        heads = self.first_indexes[:-1][found]
        broken: Longs = heads[self._offsets_at(heads - 1) + 1 != self.first_offsets[found]]
        return broken

    def at(self, indexes: Longs) -> Fingerprints:
        """Return the records at these indexes, of which all have to be kept."""
        rows, held = self._kept(indexes)
        if not held.all():
            raise IndexError(f"{np.count_nonzero(~held)} of {len(indexes)} records were matched, and are not kept")
        return self.kept.at(rows)

    def below(self, offset: int) -> Fingerprints:
        """Return those before an offset of the records that are kept."""
        return self.kept.below(offset)

    def _kept(self, indexes: Longs) -> tuple[Longs, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        rows = np.searchsorted(self.kept_indexes, indexes)
        if not len(self.kept_indexes):
            return rows, np.zeros(len(indexes), np.bool_)
        rows = np.minimum(rows, len(self.kept_indexes) - 1)
        return rows, self.kept_indexes[rows] == indexes

    def _offsets_at(self, indexes: Longs) -> Longs:
        stretch = np.searchsorted(self.first_indexes, indexes, "right") - 1
        return self.first_offsets[stretch] + indexes - self.first_indexes[stretch]

    def _times_at(self, indexes: Longs) -> Longs:
        rows, held = self._kept(indexes)
        if held.all():
            return self.kept.timestamps[rows]
        return np.array([self.time_of(offset) for offset in self._offsets_at(indexes).tolist()], np.int64)


@dataclass(frozen=True, slots=True)
class _Computed:
    """A column whose numbers are computed when they are asked for."""

    length: int
    of: Callable[[Longs], Longs]

    def __getitem__(self, at: Longs | slice | int, /) -> Longs:
        if isinstance(at, slice):
            return self.of(np.arange(*at.indices(self.length)))
        if isinstance(at, int):
            return self.of(np.array([at]))[0]  # type: ignore[no-any-return]
        return self.of(at)
