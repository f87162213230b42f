"""What compaction explains, over arrays: :mod:`kafka_dr.audit.compaction` has the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from copy_audit.fingerprints import Longs, RecordLog
from copy_audit.matching import AlignedPartition, latest_offsets
from kafka_dr.audit.compaction import Removable, removable

if TYPE_CHECKING:
    from copy_audit.expired import ComparedRange
    from copy_audit.partitions import PartitionLogs


#: Returns which of these keys a cluster may still have a value of in a partition, from before what is compared.
Living = Callable[[Literal["source", "target"], int, Longs], frozenset[int]]


def none_living(_cluster: Literal["source", "target"], _partition: int, _keys: Longs) -> frozenset[int]:
    """What to use if nothing was compared before."""
    return frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class CompactedAway:
    """Indexes of unmatched records whose counterparts compaction may have removed from the other cluster."""

    source: Longs
    target: Longs


@dataclass(frozen=True, slots=True, eq=False)
class _Gaps:
    """The gaps between the blocks of one cluster.

    :param ends: the offset of the first record of the block after each gap, or the end of what is compared
    :param holes: how many offsets of each gap have no record
    """

    ends: Longs
    holes: Longs


def superseded(
    comparison: AlignedPartition, logs: PartitionLogs, unmatched: tuple[Longs, Longs], living: Living
) -> CompactedAway:
    """Return the unmatched records that compaction of the other cluster explains.

    :param unmatched: indexes on the source and on the target
    """
    source_starts, target_starts = comparison.blocks[:, 0], comparison.blocks[:, 1]
    on_source = _gaps(comparison.source, logs.source_range, source_starts, comparison.blocks[:, 2])
    on_target = _gaps(comparison.target, logs.target_range, target_starts, comparison.blocks[:, 2])
    partition = comparison.partition
    return CompactedAway(
        source=_explained(
            _UnmatchedKeys(comparison.source, unmatched[0], source_starts),
            _UnmatchedKeys(comparison.target, unmatched[1], target_starts),
            on_target,
            lambda keys: living("target", partition, keys),
        ),
        target=_explained(
            _UnmatchedKeys(comparison.target, unmatched[1], target_starts),
            _UnmatchedKeys(comparison.source, unmatched[0], source_starts),
            on_source,
            lambda keys: living("source", partition, keys),
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _UnmatchedKeys:
    """The unmatched records of one cluster.

    :param starts: the first index of each block on that cluster
    """

    log: RecordLog
    indexes: Longs
    starts: Longs

    @property
    def gaps(self) -> Longs:
        """The number of the gap that each is in."""
        return np.searchsorted(self.starts, self.indexes)

    @property
    def keys(self) -> Longs:
        """Their keys, with the bit that marks a deletion."""
        assert self.log.keys is not None, "of a compacted topic"  # noqa: S101
        return self.log.keys[self.indexes]


def _explained(
    unmatched: _UnmatchedKeys, other: _UnmatchedKeys, across: _Gaps, living: Callable[[Longs], frozenset[int]]
) -> Longs:
    """Return the indexes of records for which the other cluster has a hole, and needs no such record.

    :param other: those of the other cluster
    :param across: the other cluster's gaps
    :param living: returns which of these keys the other cluster may still have a value of
    """
    log, indexes = unmatched.log, unmatched.indexes
    if log.keys is None or not len(indexes):
        return np.empty(0, np.int64)
    keys, gaps = unmatched.keys, unmatched.gaps
    plain = keys >> 1
    newest, others = latest_offsets(log, keys), latest_offsets(other.log, keys)
    facing = set(zip(other.gaps.tolist(), (other.keys >> 1).tolist(), strict=True)) if len(other.indexes) else set()
    after = zip(keys.tolist(), log.offsets[indexes].tolist(), across.ends[gaps].tolist(), gaps.tolist(), strict=True)
    answers = [
        removable(
            offset,
            deletes=bool(key & 1),
            newest_here=newest[key >> 1],
            newest_there=others.get(key >> 1),
            next_there=end,
            faced=(gap, key >> 1) in facing,
        )
        for key, offset, end, gap in after
    ]
    chosen = np.array([answer is Removable.YES for answer in answers], np.bool_)
    deletions = np.array([answer is Removable.IF_DELETED for answer in answers], np.bool_)
    if deletions.any():
        alive = living(np.unique(plain[deletions]))
        chosen |= deletions & ~np.isin(plain, np.array(list(alive), np.int64))
    indexes, gaps = indexes[chosen], gaps[chosen]
    wanted = np.bincount(gaps, minlength=len(across.holes))
    return indexes[across.holes[gaps] >= wanted[gaps]]


def _gaps(log: RecordLog, stretch: ComparedRange, starts: Longs, lengths: Longs) -> _Gaps:
    if not len(log):
        count = len(starts) + 1
        return _Gaps(np.full(count, stretch.end), np.full(count, stretch.end - stretch.start))
    ends = starts + lengths
    first = np.concatenate(([stretch.start], log.offsets[ends - 1] + 1)) if len(starts) else np.array([stretch.start])
    last = np.concatenate((log.offsets[starts], [stretch.end])) if len(starts) else np.array([stretch.end])
    records = np.concatenate((starts, [len(log)])) - np.concatenate(([0], ends))
    return _Gaps(last, last - first - records)
