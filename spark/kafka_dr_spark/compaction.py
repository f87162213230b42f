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


def superseded(comparison: Comparison, logs: PartitionLogs, source: Longs, target: Longs) -> Superseded:
    """Return which loose records compaction of the other side explains."""
    starts_here, starts_there = comparison.blocks[:, 0], comparison.blocks[:, 1]
    holes_here = _holes(comparison.source, logs.source_stretch, starts_here, comparison.blocks[:, 2])
    holes_there = _holes(comparison.target, logs.target_stretch, starts_there, comparison.blocks[:, 2])
    return Superseded(
        source=_explained(comparison.source, comparison.target, source, starts_here, holes_there),
        target=_explained(comparison.target, comparison.source, target, starts_there, holes_here),
    )


def _explained(log: Log, other: Log, loose: Longs, starts: Longs, holes: Longs) -> Longs:
    """Return the loose places of a log for whose record the other side has a hole, and needs no such record."""
    if log.keys is None or not len(loose):
        return np.empty(0, np.int64)
    keys = log.keys[loose]
    newest, others = latest_offsets(log, keys), latest_offsets(other, keys)
    kept = []
    for place, key in zip(loose.tolist(), keys.tolist(), strict=True):
        replaced = newest[key >> 1] > int(log.offsets[place])
        deletes_nothing = bool(key & 1) and (key >> 1) not in others
        if replaced or deletes_nothing:
            kept.append(place)
    places = np.array(kept, np.int64)
    gaps = np.searchsorted(starts, places)
    wanted = np.bincount(gaps, minlength=len(holes))
    return places[holes[gaps] >= wanted[gaps]]


def _holes(log: Log, stretch: Stretch, starts: Longs, lengths: Longs) -> Longs:
    """Return, for each gap between blocks, how many offsets of it have no record."""
    if not len(log):
        return np.full(len(starts) + 1, stretch.end - stretch.start)
    ends = starts + lengths
    first = np.concatenate(([stretch.start], log.offsets[ends - 1] + 1)) if len(starts) else np.array([stretch.start])
    last = np.concatenate((log.offsets[starts], [stretch.end])) if len(starts) else np.array([stretch.end])
    records = np.concatenate((starts, [len(log)])) - np.concatenate(([0], ends))
    holes: Longs = last - first - records
    return holes
