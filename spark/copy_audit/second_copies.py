"""Where the target holds records a second time: a consumer group that continues there gets them once more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copy_audit.fingerprints import Longs, RecordLog, runs
from kafka_dr.audit.counted_ranges import gathered
from kafka_dr.audit.difference import REPEATED, Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.positions import CountedRange

#: What only the target has is one of these. If the source has deleted the original, nothing shows a second copy.
_PERHAPS = frozenset({FindingKind.FOREIGN, FindingKind.UNVERIFIABLE})


def second_copies(
    target: RecordLog, settled: Sequence[Difference], excused: Longs, *, deleted: bool
) -> tuple[CountedRange, ...]:
    """Return the second copies of a partition, in few ranges; never less than there are.

    :param target: its log
    :param settled: what differs
    :param excused: indexes of records of the target that compaction explains, so that they are no differences
    :param deleted: whether the source has deleted records: what only the target has may be the second copy of one
    """
    found = [
        (each.target_offset, each.count)
        for each in settled
        if each.kind in REPEATED or (deleted and each.kind in _PERHAPS and each.source_offset is None)
    ]
    offsets = np.array([offset for offset, _ in found], np.int64)
    hidden = [(int(alike[row]), count) for alike in _alike(target, excused) for row, count in runs(np.diff(alike) == 1)]
    first = np.concatenate((target.index_of(offsets), np.array([at for at, _ in hidden], np.int64)))
    counts = np.array([count for _, count in (*found, *hidden)], np.int64)
    starts, ends = target.offsets[first], target.offsets[first + counts - 1] + 1
    return gathered(map(CountedRange, starts.tolist(), ends.tolist(), counts.tolist()))


def _alike(target: RecordLog, excused: Longs) -> list[Longs]:
    """Return the excused records that the target holds more than once, as one array; none if there are none.

    A later record of its key replaced the original on the source, so that nothing is wrong with either copy. Both are
    read all the same.
    """
    if not len(excused):
        return []
    known, counts = np.unique(target.hashes[:], return_counts=True)
    alike = excused[counts[np.searchsorted(known, target.hashes[excused])] > 1]
    return [alike] if len(alike) else []
