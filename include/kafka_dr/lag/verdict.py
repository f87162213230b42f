"""Judges lag by its trend, as Burrow does: whether a reader keeps up, not how much it has not read.

The rules, in this order; the first that holds decides:

1. nothing is unread now: OK
2. the position is lower than at an earlier look: REWIND
3. what is unread is young: OK
4. no reader is active, and the position is where the last look found it: STOP
5. fewer than three looks since what is unread was young: OK, or, if it never was, not enough data
6. the position has not moved for three looks: STALL
7. the position moves, and the lag never became less: WARN
8. otherwise: OK

Burrow watches commits, which carry their own time; this project looks at the position every few minutes. So it asks
whether a reader is active, instead of concluding that from its silence, and too few looks are an answer of their own. A
look that finds everything read starts the window again: a reader that stops right after it is not called OK until that
look has left the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Annotated

from kafka_dr.codec import InForm, StoredRow

#: How many looks a trend needs, and how many are kept.
ENOUGH = 3
MOST = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LagVerdict(StrEnum):
    """What the trend says, the worst first. Not enough data is not OK."""

    REWIND = "REWIND"  # reads again what it had read
    STOP = "STOP"  # no reader is active
    STALL = "STALL"  # a reader is active and does not move
    WARN = "WARN"  # it moves, too slowly
    NOT_ENOUGH_DATA = "NOT_ENOUGH_DATA"
    OK = "OK"


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _moment(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


@dataclass(frozen=True, slots=True)
class Sample(StoredRow):
    """One look at a reader of one partition.

    :param at: when, aware
    :param position: next to read
    :param end: the last stable offset
    :param records: how many are unread
    :param seconds: how old the oldest of them is; 0 if nothing is unread, ``None`` if it is not known
    :param active: whether a reader is active; ``None`` if that is not known
    """

    at: Annotated[datetime, InForm(int, _milliseconds, _moment)]
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
    :param allowed_seconds: how old an unread record may be
    """
    if not samples:
        return LagVerdict.NOT_ENOUGH_DATA
    newest = samples[-1]
    if newest.records == 0:
        return LagVerdict.OK
    if newest.position < max(sample.position for sample in samples):
        return LagVerdict.REWIND
    late = _since_caught_up(samples, allowed_seconds)
    if not late:
        return LagVerdict.OK
    if newest.active is False and _does_not_move(late, 2):
        return LagVerdict.STOP
    if len(late) < ENOUGH:
        return LagVerdict.OK if len(late) < len(samples) else LagVerdict.NOT_ENOUGH_DATA
    if _does_not_move(late, ENOUGH):
        return LagVerdict.STALL
    grew = all(later.records >= earlier.records for earlier, later in pairwise(late))
    return LagVerdict.WARN if grew else LagVerdict.OK


def worst(verdicts: Iterable[LagVerdict]) -> LagVerdict:
    """Return the worst verdict; not enough data if there is none."""
    found = set(verdicts)
    return next((verdict for verdict in LagVerdict if verdict in found), LagVerdict.NOT_ENOUGH_DATA)


def _does_not_move(samples: Sequence[Sample], looks: int) -> bool:
    return len(samples) >= looks and len({sample.position for sample in samples[-looks:]}) == 1


def _since_caught_up(samples: Sequence[Sample], allowed_seconds: float) -> Sequence[Sample]:
    done = [number for number, sample in enumerate(samples) if sample.caught_up(allowed_seconds)]
    return samples[done[-1] + 1 :] if done else samples
