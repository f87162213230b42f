"""Records of the target that look foreign and are copies: of records whose transactions were aborted.

A replicator that reads uncommitted records copies those, too. Consumers of the source never see them, and those of the
target do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from copy_audit.fingerprints import Longs, RecordLog
from copy_audit.partitions import PartitionOutcome
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind

_DETAIL = "its original's transaction was aborted"


def foreign_hashes(outcome: PartitionOutcome, target: RecordLog, most: int) -> Longs:
    """Return the hashes of the first foreign records.

    :param most: how many
    """
    found = [np.empty(0, np.int64)]
    left = most
    for each in outcome.settled:
        if each.kind is FindingKind.FOREIGN and left > 0:
            found.append(_hashes(each, target)[:left])
            left -= len(found[-1])
    return np.concatenate(found)


def with_aborted(outcome: PartitionOutcome, target: RecordLog, aborted: Longs) -> PartitionOutcome:
    """Return the outcome with foreign records called copies of aborted ones that are.

    :param target: what was compared of the target
    :param aborted: the hashes of the source's aborted records
    """
    if not len(aborted):
        return outcome
    settled: list[Difference] = []
    for each in outcome.settled:
        settled += _split(each, target, aborted) if each.kind is FindingKind.FOREIGN else [each]
    return replace(outcome, settled=tuple(settled))


def _split(difference: Difference, target: RecordLog, aborted: Longs) -> Iterator[Difference]:
    first = int(target.index_of(difference.target_offset or 0))
    known = np.isin(_hashes(difference, target), aborted)
    borders = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), difference.count]
    for begin, end in pairwise(borders):
        index = first + begin
        kind, detail = (FindingKind.ABORTED, _DETAIL) if known[begin] else (difference.kind, difference.detail)
        offset, time = int(target.offsets[index]), int(target.timestamps[index])
        yield replace(difference, kind=kind, target_offset=offset, count=end - begin, timestamp=time, detail=detail)


def _hashes(difference: Difference, target: RecordLog) -> Longs:
    first = int(target.index_of(difference.target_offset or 0))
    return target.hashes[first : first + difference.count]
