"""One partition of the fingerprint log as arrays, and two of them as a pair that can be aligned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafka_dr.audit.alignment import Places

Longs = NDArray[np.int64]

_FIRST_STRETCH, _LONGEST_STRETCH = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """The records of one partition on one side, by rising offset.

    :param timestamps: milliseconds since the epoch
    :param keys: on compacted topics, what stands for the key
    """

    offsets: Longs
    timestamps: Longs
    hashes: Longs
    keys: Longs | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def joined(cls, parts: Sequence[Log]) -> Log:
        """Join parts of a log that were read in any order; mostly each is a stretch of its own."""
        filled = sorted((part for part in parts if len(part)), key=lambda part: int(part.offsets[0]))
        if not filled:
            return cls(*(np.empty(0, np.int64) for _ in range(3)))
        keys = [part.keys for part in filled if part.keys is not None]
        log = cls(
            np.concatenate([part.offsets for part in filled]),
            np.concatenate([part.timestamps for part in filled]),
            np.concatenate([part.hashes for part in filled]),
            np.concatenate(keys) if len(keys) == len(filled) else None,
        )
        return log if (np.diff(log.offsets) > 0).all() else log.at(np.argsort(log.offsets))

    def at(self, places: Longs) -> Log:
        """Return the records at these places."""
        keys = None if self.keys is None else self.keys[places]
        return Log(self.offsets[places], self.timestamps[places], self.hashes[places], keys)

    def without(self, stretches: Sequence[tuple[int, int]]) -> Log:
        """Return the records outside of these stretches of offsets: first, and next after the last."""
        kept = np.ones(len(self), np.bool_)
        for first, after in stretches:
            kept[slice(*np.searchsorted(self.offsets, [first, after]).tolist())] = False
        return self if kept.all() else self.at(np.flatnonzero(kept))

    def since(self, offset: int) -> Log:
        """Return the records from an offset on."""
        start = int(np.searchsorted(self.offsets, offset))
        keys = None if self.keys is None else self.keys[start:]
        return Log(self.offsets[start:], self.timestamps[start:], self.hashes[start:], keys)

    def below(self, offset: int) -> Log:
        """Return the records before an offset."""
        end = int(np.searchsorted(self.offsets, offset))
        keys = None if self.keys is None else self.keys[:end]
        return Log(self.offsets[:end], self.timestamps[:end], self.hashes[:end], keys)


class ArrayPair:
    """The hashes of both sides of a partition."""

    def __init__(self, source: Longs, target: Longs) -> None:
        self._source = source
        self._target = target

    @property
    def lengths(self) -> tuple[int, int]:
        """How many records the source and the target have."""
        return len(self._source), len(self._target)

    def in_step(self, source: int, target: int) -> int:
        """Return how many records are equal one by one from these places on."""
        most = min(len(self._source) - source, len(self._target) - target)
        length, stretch = 0, _FIRST_STRETCH
        while length < most:
            here = self._source[source + length : source + min(most, length + stretch)]
            there = self._target[target + length : target + min(most, length + stretch)]
            differs = here != there
            first = int(differs.argmax())
            if differs[first]:
                return length + first
            length += len(here)
            stretch = min(stretch * 4, _LONGEST_STRETCH)
        return length

    def shared(self, source: range, target: range) -> tuple[Places, Places]:
        """Return the records of two windows whose hashes occur in both."""
        here, there = self._source[source.start : source.stop], self._target[target.start : target.stop]
        return _kept(here, there, source.start), _kept(there, here, target.start)


def _kept(hashes: Longs, others: Longs, start: int) -> Places:
    places = np.flatnonzero(np.isin(hashes, others))
    return Places((places + start).tolist(), hashes[places].tolist())
