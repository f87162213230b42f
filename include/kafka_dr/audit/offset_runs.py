"""Runs of the offset map: records that follow each other without a gap on both clusters.

A run ends at a gap, a transaction marker, a loss or a replay. Between two runs there is no record that both clusters
have, so after the end of a run, the next record to read on the target is the first one of the next run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

#: Pairs of one partition that are kept where the whole map would be too much.
MOST_SPREAD = 64


class OffsetRun(NamedTuple):
    """``length`` records, at the offsets from ``source`` and from ``target`` on."""

    source: int
    target: int
    length: int


def joined(runs: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Join runs that continue or overlap the run before, as two audits of the same log leave them.

    :param runs: by rising offset of the source
    """
    result: list[OffsetRun] = []
    for run in runs:
        if result:
            last = result[-1]
            if run.source - run.target == last.source - last.target and run.source <= last.source + last.length:
                end = max(last.source + last.length, run.source + run.length)
                result[-1] = OffsetRun(last.source, last.target, end - last.source)
                continue
        result.append(run)
    return result


def translate(runs: Sequence[OffsetRun], position: int) -> int | None:
    """Return the offset of the target that corresponds to ``position`` on the source. Both are next to read.

    No record that is unread on the source is below the answer.

    :param runs: of one partition, rising on both clusters
    :returns: ``None`` before the first run and after the last one
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


def last_common(runs: Sequence[OffsetRun], position: int) -> tuple[int, int] | None:
    """Return the last pair of corresponding offsets up to ``position`` on the source; ``None`` before the first run.

    :returns: next to read on the source and on the target
    """
    number = bisect_right(runs, position, key=lambda run: run.source) - 1
    if number < 0:
        return None
    within = min(position - runs[number].source, runs[number].length)
    return runs[number].source + within, runs[number].target + within


def first_common(runs: Sequence[OffsetRun], position: int) -> tuple[int, int] | None:
    """Return the first pair of corresponding offsets from ``position`` on; ``None`` after the last run.

    :returns: next to read on the source and on the target
    """
    last = last_common(runs, position)
    if last is not None and last[0] == position:
        return last
    number = bisect_right(runs, position, key=lambda run: run.source)
    return (runs[number].source, runs[number].target) if number < len(runs) else None


def spread(runs: Sequence[OffsetRun], most: int = MOST_SPREAD) -> list[tuple[int, int]]:
    """Return some pairs of corresponding offsets, with about as many records between each two.

    :param runs: of one partition, rising on both clusters
    :param most: how many at most
    :returns: rising; the offsets of a record and of its copy
    """
    total = sum(run.length for run in runs)
    parts = min(most, total)
    wanted = [number * total // parts for number in range(parts)]
    found: list[tuple[int, int]] = []
    before = 0
    left = iter(runs)
    run = next(left, None)
    for index in wanted:
        while run is not None and index >= before + run.length:
            before += run.length
            run = next(left, None)
        if run is not None:
            found.append((run.source + index - before, run.target + index - before))
    return found
