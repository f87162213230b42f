"""What compaction explains: a record may be gone on one side because a newer one of its key replaced it.

The cleaner leaves a hole in the offsets. Where there is no hole a record was never there, and no key excuses that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kafka_dr_spark.comparing import Comparison, latest_offsets
from kafka_dr_spark.logs import Log, Longs

if TYPE_CHECKING:
    from kafka_dr_spark.topic_audit import PartitionLogs, Stretch


@dataclass(frozen=True, slots=True, eq=False)
class Superseded:
    """Places of loose records that the other side may have compacted away."""

    source: Longs
    target: Longs


@dataclass(frozen=True, slots=True, eq=False)
class _Gaps:
    """The gaps between blocks of one side.

    :param starts: the first offset behind the block before each
    :param holes: how many offsets of each have no record
    """

    starts: Longs
    holes: Longs


def superseded(comparison: Comparison, logs: PartitionLogs, source: Longs, target: Longs) -> Superseded:
    """Return which loose records compaction of the other side explains."""
    starts_here, starts_there = comparison.blocks[:, 0], comparison.blocks[:, 1]
    here = _gaps(comparison.source, logs.source_stretch, starts_here, comparison.blocks[:, 2])
    there = _gaps(comparison.target, logs.target_stretch, starts_there, comparison.blocks[:, 2])
    return Superseded(
        source=_explained(comparison.source, comparison.target, source, starts_here, there),
        target=_explained(comparison.target, comparison.source, target, starts_there, here),
    )


def _explained(log: Log, other: Log, loose: Longs, starts: Longs, across: _Gaps) -> Longs:
    """Return the loose places of a log for whose record the other side has a hole, and needs no such record.

    :param across: the other side's gaps
    """
    if log.keys is None or not len(loose):
        return np.empty(0, np.int64)
    keys = log.keys[loose]
    newest, others = latest_offsets(log, keys), latest_offsets(other, keys)
    gaps = np.searchsorted(starts, loose)
    kept = []
    for place, key, gap in zip(loose.tolist(), keys.tolist(), gaps.tolist(), strict=True):
        replaced = newest[key >> 1] > int(log.offsets[place])
        # The newer record may be one that only the other side has: that one is a finding, and what it replaced is none.
        replaced_there = others.get(key >> 1, -1) >= int(across.starts[gap])
        deletes_nothing = bool(key & 1) and (key >> 1) not in others
        kept.append(replaced or replaced_there or deletes_nothing)
    chosen = np.array(kept, np.bool_)
    places, gaps = loose[chosen], gaps[chosen]
    wanted = np.bincount(gaps, minlength=len(across.holes))
    return places[across.holes[gaps] >= wanted[gaps]]


def _gaps(log: Log, stretch: Stretch, starts: Longs, lengths: Longs) -> _Gaps:
    if not len(log):
        start = np.full(len(starts) + 1, stretch.start)
        return _Gaps(start, np.full(len(starts) + 1, stretch.end - stretch.start))
    ends = starts + lengths
    first = np.concatenate(([stretch.start], log.offsets[ends - 1] + 1)) if len(starts) else np.array([stretch.start])
    last = np.concatenate((log.offsets[starts], [stretch.end])) if len(starts) else np.array([stretch.end])
    records = np.concatenate((starts, [len(log)])) - np.concatenate(([0], ends))
    return _Gaps(first, last - first - records)
