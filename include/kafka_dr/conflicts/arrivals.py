"""What is known of when the records of one log reached another site, and when they were read there. Pure.

Nothing stamps the arrival of a record. But audits have seen, at times, from which record on the copy had nothing; and
groups have committed, at times, past copies. What happened between two such moments is not known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from kafka_dr.positions import OffsetPair


class OffsetMark(NamedTuple):
    """An offset of the original log, and a time in milliseconds since the epoch."""

    offset: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ArrivalMarks:
    """What is known of one partition of one origin, on one other site.

    :param absent: from this offset on, nothing had arrived at that time
    :param read: by that time, everything before this offset had been read there
    """

    absent: tuple[OffsetMark, ...] = ()
    read: tuple[OffsetMark, ...] = ()


class ArrivalStretch(NamedTuple):
    """What is known of the offsets ``first <= offset < after`` of one partition.

    :param after: ``None``: there is no end
    :param not_before: by site, in the declared order, the last time at which they were known not to be there
    :param read_by: likewise, the first time by which they were read there
    """

    first: int
    after: int | None
    not_before: tuple[int | None, ...]
    read_by: tuple[int | None, ...]


def stretches(by_site: Sequence[ArrivalMarks]) -> list[ArrivalStretch]:
    """Return what is known of a partition, as stretches that follow each other from offset 0 on.

    :param by_site: of each site in the declared order; that of the origin itself is empty
    """
    found = {0} | {mark.offset for marks in by_site for mark in (*marks.absent, *marks.read)}
    firsts = sorted(offset for offset in found if offset >= 0)
    absent = [_latest_so_far(marks.absent, firsts) for marks in by_site]
    read = [_earliest_from_here(marks.read, firsts) for marks in by_site]
    return [
        ArrivalStretch(
            first,
            firsts[number + 1] if number + 1 < len(firsts) else None,
            tuple(each[number] for each in absent),
            tuple(each[number] for each in read),
        )
        for number, first in enumerate(firsts)
    ]


def translated(committed: Iterable[OffsetMark], pairs: Iterable[OffsetPair]) -> tuple[OffsetMark, ...]:
    """Return up to where the original was read, from what was committed on its copy.

    :param committed: next to read of the copy, and when that was seen
    :param pairs: offsets of records and of their copies
    """
    known = sorted(pairs, key=lambda pair: (pair.target, pair.source))
    targets = [pair.target for pair in known]
    # Pairs that contradict each other say less, never more.
    reached = list(accumulate((pair.source for pair in reversed(known)), min))[::-1]
    found = []
    for mark in committed:
        if below := bisect_left(targets, mark.offset):
            found.append(OffsetMark(reached[below - 1] + 1, mark.at_ms))
    return tuple(found)


def _latest_so_far(marks: Iterable[OffsetMark], firsts: Sequence[int]) -> list[int | None]:
    latest = {mark.offset: mark.at_ms for mark in sorted(marks, key=lambda mark: mark.at_ms)}
    found: list[int | None] = []
    for first in firsts:
        known = [each for each in (latest.get(first), found[-1] if found else None) if each is not None]
        found.append(max(known, default=None))
    return found


def _earliest_from_here(marks: Iterable[OffsetMark], firsts: Sequence[int]) -> list[int | None]:
    # A mark is next to read: it says something of what is before it alone.
    earliest = {mark.offset: mark.at_ms for mark in sorted(marks, key=lambda mark: mark.at_ms, reverse=True)}
    found: list[int | None] = []
    after: int | None = None
    for first in reversed(firsts):
        found.append(after)
        known = [each for each in (earliest.get(first), after) if each is not None]
        after = min(known, default=None)
    return found[::-1]
