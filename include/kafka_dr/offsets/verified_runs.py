"""What audits matched of one partition, over all switches: the offset maps of every epoch, seen from one side.

An audit's map says of every record between its first and its last one where it lies on the other side. Between the maps
of two epochs lies what no audit read; a position there has no place in the map.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kafka_dr.audit.offset_runs import OffsetRun, joined, translate


@dataclass(frozen=True, slots=True)
class VerifiedRuns:
    """Maps that lie one behind the other on both sides, oldest first.

    :param stretches: each the runs of one epoch's map, rising on both sides
    """

    stretches: tuple[tuple[OffsetRun, ...], ...] = ()

    def translate(self, position: int) -> int | None:
        """Return where a reader goes on; ``None`` where no audit read. Both are next to read."""
        for stretch in reversed(self.stretches):
            if stretch[0].source <= position <= _ends(stretch)[0]:
                return translate(stretch, position)
        return None

    def between(self, start: int, end: int) -> int | None:
        """Return how many matched records lie in a range of the target; ``None`` where no audit read all of it."""
        if end <= start:
            return 0
        for stretch in self.stretches:
            if stretch[0].target <= start and end <= _ends(stretch)[1]:
                return _records_below(stretch, end) - _records_below(stretch, start)
        return None

    @property
    def records(self) -> int:
        """How many records were matched."""
        return sum(run.length for stretch in self.stretches for run in stretch)


NOTHING = VerifiedRuns()


def composed_runs(by_epoch: Mapping[int, Sequence[OffsetRun]]) -> VerifiedRuns:
    """Put the maps of several epochs together: of each older one what lies below the newer ones on both sides.

    :param by_epoch: seen from one side: maps of the other direction as :func:`inverse` returns them
    """
    stretches: list[tuple[OffsetRun, ...]] = []
    for epoch in sorted(by_epoch, reverse=True):
        runs = joined(sorted(set(by_epoch[epoch])))
        if not rising(runs):
            continue
        if stretches:
            runs = _below(runs, stretches[-1][0])
        if runs:
            stretches.append(tuple(runs))
    return VerifiedRuns(tuple(reversed(stretches)))


def inverse(runs: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Return a map of the other direction as one of this direction."""
    return sorted(OffsetRun(run.target, run.source, run.length) for run in runs)


def rising(runs: Sequence[OffsetRun]) -> bool:
    """Return whether no run overlaps another one, on either side: else it is no map."""
    return all(
        before.source + before.length <= after.source and before.target + before.length <= after.target
        for before, after in pairwise(runs)
    )


def _below(runs: Sequence[OffsetRun], first: OffsetRun) -> list[OffsetRun]:
    kept = []
    for run in runs:
        length = min(run.length, first.source - run.source, first.target - run.target)
        if length > 0:
            kept.append(run._replace(length=length))
    return kept


def _ends(stretch: Sequence[OffsetRun]) -> tuple[int, int]:
    last = stretch[-1]
    return last.source + last.length, last.target + last.length


def _records_below(stretch: Sequence[OffsetRun], offset: int) -> int:
    """Return how many of the records lie below an offset of the target."""
    number = bisect_right(stretch, offset, key=lambda run: run.target) - 1
    if number < 0:
        return 0
    whole = sum(run.length for run in stretch[:number])
    return whole + min(stretch[number].length, offset - stretch[number].target)
