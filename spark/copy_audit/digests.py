"""Digests by minute: how many records a cluster has of each minute, and the sum of their hashes.

The sum wraps around at 64 bits, so the digests of two audits, or of several partitions, add up to those of the whole:
kept digests allow to compare months of two clusters without their records. They show every loss, copy and change, but
no change of order; the findings come from the sequences themselves, which show that as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs

if TYPE_CHECKING:
    from copy_audit.partitions import MatchedByTasks

_MINUTE_MS = 60_000
_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Digests:
    """Both clusters' digests of a partition, by minute of CreateTime; zero for minutes that only the other cluster has.

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


#: Minutes since the epoch, and a row for each: records, and the sum of their hashes. A minute may occur more than once.
MinuteSums = tuple[Longs, Longs]


def digests(source: Fingerprints, target: Fingerprints, matched: MatchedByTasks | None = None) -> Digests:
    """Digest the compared records of both clusters.

    :param matched: what was digested before; the logs are without it
    """
    on_source, on_target = minute_sums(source), minute_sums(target)
    if matched is not None:
        on_source, on_target = (
            (np.concatenate((one[0], other[0])), np.concatenate((one[1], other[1])))
            for one, other in zip((on_source, on_target), matched.minutes, strict=True)
        )
    minutes = np.union1d(on_source[0], on_target[0])
    return Digests(minutes, _spread(minutes, *on_source), _spread(minutes, *on_target))


def minute_sums(log: Fingerprints) -> MinuteSums:
    """Digest some records."""
    found = [_of_stretch(log.timestamps[s : s + _AT_ONCE], log.hashes[s : s + _AT_ONCE]) for s in _starts(log)]
    if not found:
        return np.empty(0, np.int64), np.empty((0, 2), np.int64)
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _starts(log: Fingerprints) -> range:
    return range(0, len(log), _AT_ONCE)


def _of_stretch(timestamps: Longs, hashes: Longs) -> MinuteSums:
    # Timestamps mostly rise: a minute is one range or a few, and nothing has to be sorted.
    minutes = timestamps // _MINUTE_MS
    starts = np.concatenate(([0], np.flatnonzero(np.diff(minutes)) + 1))
    counts = np.diff(np.concatenate((starts, [len(minutes)])))
    return minutes[starts], np.stack((counts, np.add.reduceat(hashes, starts)), axis=1)


def _spread(wanted: Longs, minutes: Longs, parts: Longs) -> Longs:
    spread = np.zeros((len(wanted), 2), np.int64)
    np.add.at(spread, np.searchsorted(wanted, minutes), parts)
    return spread
