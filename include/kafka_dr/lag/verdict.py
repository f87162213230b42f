"""Lag judged by its trend, as Burrow does: whether whoever reads a partition gets on, not how much lies before him.

The rules, in this order; the first that holds decides:

1. nothing is unread now: OK
2. the position is behind where it has been, and has not made that up: REWIND
3. what is unread is young: OK
4. nobody is there to read, and the position is where the last look found it: STOP
5. fewer than three looks since what is unread was young: OK, or, if it never was, not enough data
6. the position stands still for three looks: STALL
7. the position moves, and the lag never became less: WARN
8. otherwise: OK

Burrow watches commits, which carry their own time; here the position is looked at every few minutes. So whether anybody
is there is asked instead of concluded from the silence, and too few looks are an answer of their own. A look that finds
everything read begins the window anew: a reader who stops right after it is not called OK until it has slid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

#: How many looks a trend needs, and how many are kept.
ENOUGH = 3
MOST = 12


class LagVerdict(StrEnum):
    """What the trend says; the worst comes first, and not enough data is no OK."""

    REWIND = "REWIND"  # reads again what it had read
    STOP = "STOP"  # nobody reads
    STALL = "STALL"  # somebody is there and does not get on
    WARN = "WARN"  # gets on, too slowly
    NOT_ENOUGH_DATA = "NOT_ENOUGH_DATA"
    OK = "OK"


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at a reader of one partition.

    :param at: when, aware
    :param position: next to read
    :param end: the end of what can be read, next to read there
    :param records: how many lie unread
    :param seconds: how old the oldest of them is; 0 where nothing is unread, ``None`` where that could not be told
    :param active: whether anybody is there to read; ``None`` where that is not known
    """

    at: datetime
    position: int
    end: int
    records: int
    seconds: float | None
    active: bool | None = None

    def caught_up(self, allowed_seconds: float) -> bool:
        """Return whether nothing is unread, or nothing older than is allowed."""
        return self.records == 0 or (self.seconds is not None and self.seconds <= allowed_seconds)


def judge(samples: Sequence[Sample], *, allowed_seconds: float) -> LagVerdict:
    """Judge a reader of one partition.

    :param samples: looks of one life of the partition, oldest first
    :param allowed_seconds: how old an unread record may be without anything being wrong
    """
    if not samples:
        return LagVerdict.NOT_ENOUGH_DATA
    newest = samples[-1]
    if newest.records == 0:
        return LagVerdict.OK
    if newest.position < max(sample.position for sample in samples):
        return LagVerdict.REWIND
    behind = _since_caught_up(samples, allowed_seconds)
    if not behind:
        return LagVerdict.OK
    if newest.active is False and _stands(behind, 2):
        return LagVerdict.STOP
    if len(behind) < ENOUGH:
        return LagVerdict.OK if len(behind) < len(samples) else LagVerdict.NOT_ENOUGH_DATA
    if _stands(behind, ENOUGH):
        return LagVerdict.STALL
    grew = all(later.records >= earlier.records for earlier, later in pairwise(behind))
    return LagVerdict.WARN if grew else LagVerdict.OK


def worst(verdicts: Iterable[LagVerdict]) -> LagVerdict:
    """Return the worst verdict; of none at all there is not enough data."""
    found = set(verdicts)
    return next((verdict for verdict in LagVerdict if verdict in found), LagVerdict.NOT_ENOUGH_DATA)


def _stands(samples: Sequence[Sample], looks: int) -> bool:
    return len(samples) >= looks and len({sample.position for sample in samples[-looks:]}) == 1


def _since_caught_up(samples: Sequence[Sample], allowed_seconds: float) -> Sequence[Sample]:
    done = [number for number, sample in enumerate(samples) if sample.caught_up(allowed_seconds)]
    return samples[done[-1] + 1 :] if done else samples
