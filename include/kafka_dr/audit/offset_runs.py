"""The offset map: runs of records that lie one after the other on both sides.

A run ends at a gap, a transaction marker, a loss or a replay. Between two runs lies nothing that is on both sides, so
the next record to read on the target is the first one of the next run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class OffsetRun(NamedTuple):
    """``length`` records, at the offsets from ``source`` and from ``target`` on."""

    source: int
    target: int
    length: int


def joined(runs: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Join runs that go on where the one before ends, as two audits of the same log leave them."""
    result: list[OffsetRun] = []
    for run in runs:
        if result:
            last = result[-1]
            if (last.source + last.length, last.target + last.length) == (run.source, run.target):
                result[-1] = OffsetRun(last.source, last.target, last.length + run.length)
                continue
        result.append(run)
    return result


def translate(runs: Sequence[OffsetRun], position: int) -> int | None:
    """Return where a reader goes on at the target who goes on at ``position`` at the source. Both are next to read.

    Nothing that is unread on the source lies below the answer.

    :param runs: of one partition, rising on both sides
    :returns: ``None`` where the map does not reach: before its first run, or past its last one
    """
    if not runs or position < runs[0].source:
        return None
    number = bisect_right(runs, position, key=lambda run: run.source) - 1
    run = runs[number]
    if position < run.source + run.length:
        return run.target + position - run.source
    if number + 1 < len(runs):
        return runs[number + 1].target
    return run.target + run.length if position == run.source + run.length else None
