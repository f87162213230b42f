"""Digests by minute: how many records a side has of it, and the sum of their hashes.

The sum wraps around at 64 bits, so digests of two audits, or of several partitions, add up to those of the whole: who
keeps them can compare months of two clusters without a record of either. They see every loss, copy and change, and no
change of order; the findings come from the sequences themselves, which see that, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs

_MINUTE_MS = 60_000
_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Digests:
    """Both sides of a partition, minute by minute of CreateTime; what only one side has is nothing on the other.

    :param minutes: since the epoch, rising
    :param source: a row for each minute: records, and the sum of their hashes
    :param target: the same
    """

    minutes: Longs
    source: Longs
    target: Longs

    @property
    def differing(self) -> int:
        """How many minutes differ."""
        return int((self.source != self.target).any(axis=1).sum())


def digests(source: Fingerprints, target: Fingerprints) -> Digests:
    """Digest what was compared of both sides."""
    here, there = _of(source), _of(target)
    minutes = np.union1d(here[0], there[0])
    return Digests(minutes, _spread(minutes, *here), _spread(minutes, *there))


def _of(log: Fingerprints) -> tuple[Longs, Longs]:
    """Return minutes and their digests; a minute may come more than once."""
    found = [_of_stretch(log.timestamps[s : s + _AT_ONCE], log.hashes[s : s + _AT_ONCE]) for s in _starts(log)]
    if not found:
        return np.empty(0, np.int64), np.empty((0, 2), np.int64)
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _starts(log: Fingerprints) -> range:
    return range(0, len(log), _AT_ONCE)


def _of_stretch(timestamps: Longs, hashes: Longs) -> tuple[Longs, Longs]:
    # Time mostly rises: a minute is a stretch or a few, and nothing has to be sorted.
    minutes = timestamps // _MINUTE_MS
    starts = np.concatenate(([0], np.flatnonzero(np.diff(minutes)) + 1))
    counts = np.diff(np.concatenate((starts, [len(minutes)])))
    return minutes[starts], np.stack((counts, np.add.reduceat(hashes, starts)), axis=1)


def _spread(wanted: Longs, minutes: Longs, parts: Longs) -> Longs:
    spread = np.zeros((len(wanted), 2), np.int64)
    np.add.at(spread, np.searchsorted(wanted, minutes), parts)
    return spread
