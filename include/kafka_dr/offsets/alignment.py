"""Matching two logs record by record, from a place that is known on both sides. Pure: sequences in, numbers out.

Why this is never late: from a true pair on, a target that holds the source's records in order holds the n-th of them
at the n-th place or later. Equal content in lock step therefore never runs ahead of the truth, whatever lies between,
and it stops at the first record that differs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.audit import Entry


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place that is believed to be the same on both sides.

    :param kind: ``record``: the offsets *of* one record and its copy; ``position``: offsets next to read, below which
        and from which on the records of both sides correspond
    :param trusted: it follows from what was matched before, or both logs begin here; others must be told apart from
        their surroundings by content
    """

    source: int
    target: int
    kind: Literal["record", "position"]
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """How far the source's records were found again, one by one.

    :param confirmed: the anchor is right: content says so, in a way that does not fit elsewhere in what was read
    :param complete: every record between anchor and position was matched
    :param starved: no record differs, but what was read of the target ended before what was read of the source
    :param source_offset: next to read after the last matched record; the anchor where none was
    :param target_offset: the same on the target
    """

    confirmed: bool
    complete: bool
    starved: bool
    source_offset: int
    target_offset: int


_REJECTED = Alignment(confirmed=False, complete=False, starved=False, source_offset=-1, target_offset=-1)


def align(source: Sequence[Entry], target: Sequence[Entry], *, anchor: Anchor, position: int) -> Alignment:
    """Match records in lock step from an anchor up to a position on the source.

    Both sequences may begin before the anchor and go on after the position: what lies there helps to tell whether the
    anchor is right, and is not counted.

    :param position: next to read, on the source
    """
    start, target_start = bisect_left(source, (anchor.source,)), bisect_left(target, (anchor.target,))
    if anchor.kind == "record" and not (
        _lies_at(source, start, anchor.source) and _lies_at(target, target_start, anchor.target)
    ):
        return _REJECTED
    forward = _equal(source, target, start, target_start, step=1)
    backward = _equal(source, target, start - 1, target_start - 1, step=-1)
    wanted = max(0, bisect_left(source, (position,)) - start)
    matched = min(forward, wanted)
    confirmed = anchor.trusted or _distinct(source, target, range(start - backward, start + forward))
    return Alignment(
        confirmed=confirmed,
        complete=matched == wanted,
        starved=start + forward < len(source) and target_start + forward == len(target),
        source_offset=source[start + matched - 1].offset + 1 if matched else anchor.source,
        target_offset=target[target_start + matched - 1].offset + 1 if matched else anchor.target,
    )


def _lies_at(entries: Sequence[Entry], at: int, offset: int) -> bool:
    return at < len(entries) and entries[at].offset == offset


def _equal(source: Sequence[Entry], target: Sequence[Entry], at: int, target_at: int, *, step: Literal[1, -1]) -> int:
    """Return how many records are equal, one by one, in a direction."""
    count = 0
    while 0 <= at < len(source) and 0 <= target_at < len(target) and source[at].content == target[target_at].content:
        at, target_at, count = at + step, target_at + step, count + 1
    return count


def _distinct(source: Sequence[Entry], target: Sequence[Entry], matched: range) -> bool:
    """Return whether one of the matched records occurs nowhere else in what was read, on either side."""
    here = Counter(entry.content for entry in source)
    there = Counter(entry.content for entry in target)
    return any(here[source[at].content] == 1 == there[source[at].content] for at in matched)
