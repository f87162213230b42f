"""What compaction explains: a record may be gone on one side because a newer one of its key replaced it.

The cleaner leaves a hole in the offsets. Where there is no hole a record was never there, and no key excuses that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.matching import AlignedPartition, latest_offsets

if TYPE_CHECKING:
    from copy_audit.expired import ComparedRange
    from copy_audit.partitions import PartitionLogs


#: Says which of these keys a side of a partition may still have a value of, from before what is compared.
Living = Callable[[Literal["source", "target"], int, Longs], frozenset[int]]


def none_living(_side: Literal["source", "target"], _partition: int, _keys: Longs) -> frozenset[int]:
    """What to say where nothing comes before what is compared."""
    return frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class CompactedAway:
    """IndexedHashes of unmatched records that the other side may have compacted away."""

    source: Longs
    target: Longs


@dataclass(frozen=True, slots=True, eq=False)
class _Gaps:
    """The gaps between blocks of one side.

    :param ends: the offset of the first record of the block behind each, or the end of what is compared
    :param holes: how many offsets of each have no record
    """

    ends: Longs
    holes: Longs


def superseded(
    comparison: AlignedPartition, logs: PartitionLogs, unmatched: tuple[Longs, Longs], living: Living
) -> CompactedAway:
    """Return which unmatched records compaction of the other side explains.

    :param unmatched: indexes on the source and on the target
    """
    starts_here, starts_there = comparison.blocks[:, 0], comparison.blocks[:, 1]
    here = _gaps(comparison.source, logs.source_stretch, starts_here, comparison.blocks[:, 2])
    there = _gaps(comparison.target, logs.target_stretch, starts_there, comparison.blocks[:, 2])
    partition = comparison.partition
    return CompactedAway(
        source=_explained(
            _UnmatchedKeys(comparison.source, unmatched[0], starts_here),
            comparison.target,
            there,
            lambda keys: living("target", partition, keys),
        ),
        target=_explained(
            _UnmatchedKeys(comparison.target, unmatched[1], starts_there),
            comparison.source,
            here,
            lambda keys: living("source", partition, keys),
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _UnmatchedKeys:
    """UnmatchedRecord records of one side.

    :param starts: the first index of each block there
    """

    log: Fingerprints
    indexes: Longs
    starts: Longs


def _explained(
    unmatched: _UnmatchedKeys, other: Fingerprints, across: _Gaps, living: Callable[[Longs], frozenset[int]]
) -> Longs:
    """Return the indexes of those for whose record the other side has a hole, and needs no such record.

    :param across: the other side's gaps
    :param living: of these keys, which the other side may still have a value of
    """
    log, indexes = unmatched.log, unmatched.indexes
    if log.keys is None or not len(indexes):
        return np.empty(0, np.int64)
    keys = log.keys[indexes]
    plain, gaps = keys >> 1, np.searchsorted(unmatched.starts, indexes)
    newest, others = latest_offsets(log, keys), latest_offsets(other, keys)
    # The newer record may be one that only the other side has: that one is a finding, and what it replaced is none.
    # In the same gap it may be what became of this very record.
    after = zip(plain.tolist(), log.offsets[indexes].tolist(), across.ends[gaps].tolist(), strict=True)
    chosen = np.array([newest[key] > offset or others.get(key, -1) >= end for key, offset, end in after], np.bool_)
    deletions = ~chosen & (keys & 1).astype(np.bool_) & ~np.isin(plain, np.array(list(others), np.int64))
    if deletions.any():
        alive = living(np.unique(plain[deletions]))
        chosen |= deletions & ~np.isin(plain, np.array(list(alive), np.int64))
    indexes, gaps = indexes[chosen], gaps[chosen]
    wanted = np.bincount(gaps, minlength=len(across.holes))
    return indexes[across.holes[gaps] >= wanted[gaps]]


def _gaps(log: Fingerprints, stretch: ComparedRange, starts: Longs, lengths: Longs) -> _Gaps:
    if not len(log):
        count = len(starts) + 1
        return _Gaps(np.full(count, stretch.end), np.full(count, stretch.end - stretch.start))
    ends = starts + lengths
    first = np.concatenate(([stretch.start], log.offsets[ends - 1] + 1)) if len(starts) else np.array([stretch.start])
    last = np.concatenate((log.offsets[starts], [stretch.end])) if len(starts) else np.array([stretch.end])
    records = np.concatenate((starts, [len(log)])) - np.concatenate(([0], ends))
    return _Gaps(last, last - first - records)
