"""Which record of one side is which one of the other: the one that it has most in common with, in order.

What two records have in common counts for more the fewer records have it, and for a quarter with each further part that
differs: a weak likeness never takes a record from a strong one (after Fellegi and Sunter, "A Theory for Record
Linkage", 1969). Of all series of pairs that rise on both sides the heaviest is the answer. Where too many pairs are
possible, what only one record of either side has divides the stretch first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import log2
from typing import NamedTuple

#: Possible pairs of a stretch that are weighed; of more, those that divide the stretch come first.
_MOST_WEIGHED = 60_000
#: How often a stretch is divided before only records of about the same rank are weighed.
_DEEPEST = 12
#: Records in a row that are compared as one where none of them has anything to itself.
_IN_A_ROW = 8
#: How far the ranks of two records may be apart where only those of about the same rank are weighed.
_RANKS = 2
#: What one bit counts for, and what a likeness counts for that says nothing.
_BIT, _LIKE = 1 << 16, 1 << 14
_PARTS = range(4)

#: IndexedHashes on both sides.
Pairs = list[tuple[int, int]]
#: Numbers that stand for what names each record.
_Clues = Sequence[Sequence[int]]
#: Records of the source, rising, each with those of the target that it may be.
_Possible = Iterable[tuple[int, Iterable[int]]]


class Traits(NamedTuple):
    """What is known of a record.

    :param time: milliseconds since the epoch; ``None`` where it says nothing
    :param key: the content, or what stands for it; ``None`` where there is none
    :param value: the same
    :param headers: what stands for them
    :param seen: whether more than the time is known
    """

    time: int | None
    key: bytes | None = None
    value: bytes | None = None
    headers: bytes | None = None
    seen: bool = True


def paired(here: Sequence[Traits], there: Sequence[Traits]) -> Pairs:
    """Return which records are each other's, rising on both sides.

    Time and memory grow with the number of records, not with its square.
    """
    if len(here) == len(there) and all(_nearly_equal(s, t) for s, t in zip(here, there, strict=True)):
        return [(n, n) for n in range(len(here))]
    weights, clues = _Weights(here, there), _clues(here, there)
    rows: tuple[_Clues, _Clues] | None = None
    found: Pairs = []
    left = [(range(len(here)), range(len(there)), 0)]
    while left:
        ours, theirs, depth = left.pop()
        stretch = _Stretch(ours, theirs, clues)
        if stretch.possible_pairs <= _MOST_WEIGHED:
            found += _heaviest(stretch.possible(), weights)
            continue
        unique = stretch.unique()
        if not unique:
            rows = rows or _rows(here, there)
            unique = _Stretch(ours, theirs, rows).unique()
        if depth == _DEEPEST or not unique:
            found += _heaviest(stretch.of_like_rank(), weights)
            continue
        anchors = _heaviest(((s, (t,)) for s, t in unique), weights)
        found += anchors
        left += [(s, t, depth + 1) for s, t in _between(ours, theirs, anchors)]
    return sorted(found)


def displaced(here: Sequence[Traits], there: Sequence[Traits], pairs: Pairs) -> Pairs:
    """Return which of the records without a partner are each other's although they are in another order.

    Only one part of them may differ, and something of the rest has to name these two alone.

    :param pairs: those that have one
    """
    ours, theirs = {s for s, _ in pairs}, {t for _, t in pairs}
    if len(ours) == len(here) or len(theirs) == len(there):
        return []
    found: Pairs = []
    for s, t in _Stretch(range(len(here)), range(len(there)), _clues(here, there)).unique():
        if s not in ours and t not in theirs and _nearly_equal(here[s], there[t]):
            ours.add(s)
            theirs.add(t)
            found.append((s, t))
    return found


def _nearly_equal(one: Traits, other: Traits) -> bool:
    """Whether both were looked at, differ in no more than one part, and are named by what is left."""
    if not (one.seen and other.seen) or sum(one[part] != other[part] for part in _PARTS) > 1:
        return False
    return not set(_names(one, ours=True)).isdisjoint(_names(other, ours=False))


def _names(record: Traits, *, ours: bool) -> Iterator[tuple[Hashable, ...]]:
    """Yield what names a record: two that share none of it are not the same one.

    That is its value, its time and key, or all but one part. Where either was not looked at, it is the time alone.

    :param ours: whether it is of the source
    """
    time, key, value, headers, seen = record
    if time is not None:
        if not ours or not seen:
            yield "source not seen", time
        if ours == seen:
            yield "target not seen", time
    if not seen:
        return
    if value:
        yield "value", value
    if time is not None:
        yield "time and key", time, key
        yield "all but the key", time, value, headers
    elif key is not None:
        yield "key", key
    if key:
        yield "all but the time", key, value, headers


def _clues(here: Sequence[Traits], there: Sequence[Traits]) -> tuple[_Clues, _Clues]:
    numbers: dict[Hashable, int] = {}
    ours, theirs = (
        [[numbers.setdefault(name, len(numbers)) for name in _names(record, ours=side is here)] for record in side]
        for side in (here, there)
    )
    return ours, theirs


def _rows(here: Sequence[Traits], there: Sequence[Traits]) -> tuple[_Clues, _Clues]:
    """Return what stands for some records in a row, as clues of the first of each row."""
    numbers: dict[Hashable, int] = {}
    sides: list[_Clues] = []
    for side in (here, there):
        names = [{name[0]: name for name in _names(record, ours=side is here)} for record in side]
        clues: list[list[int]] = [[] for _ in side]
        for kind in ("value", "time and key", "key"):
            for start in range(len(side) - _IN_A_ROW + 1):
                row = tuple(each.get(kind) for each in names[start : start + _IN_A_ROW])
                if None not in row:
                    clues[start].append(numbers.setdefault(row, len(numbers)))
        sides.append(clues)
    return sides[0], sides[1]


class _Weights:
    """How much speaks for a pair."""

    def __init__(self, here: Sequence[Traits], there: Sequence[Traits]) -> None:
        self._here, self._there = here, there
        total = len(here) + len(there)
        counts = [Counter(record[part] for record in chain(here, there)) for part in _PARTS]
        self._bits: list[dict[Hashable, int]] = [
            {content: round(_BIT * log2(total / count)) for content, count in each.items()} for each in counts
        ]

    def of(self, s: int, t: int) -> int:
        """Return the weight of a pair that may be one; never 0."""
        one, other = self._here[s], self._there[t]
        alike, differing = _LIKE, 0
        if not (one.seen and other.seen):
            return (alike + self._bits[0][one.time]) >> 2
        for part in _PARTS:
            content = one[part]
            if content != other[part]:
                differing += 1
            else:
                # That both lack something says less than that both have it.
                alike += self._bits[part][content] >> (0 if content else 2)
        return alike >> 2 * max(0, differing - 1)


class _Stretch:
    """A stretch of both sides, and the pairs that it may hold: of records that share a clue."""

    def __init__(self, ours: range, theirs: range, clues: tuple[_Clues, _Clues]) -> None:
        self._ours, self._clues = ours, clues[0]
        self._here, self._there = _by_clue(ours, clues[0]), _by_clue(theirs, clues[1])
        self.possible_pairs = sum(len(each) * len(self._there.get(clue, ())) for clue, each in self._here.items())

    def possible(self) -> _Possible:
        """Yield all of them."""
        for s in self._ours:
            yield s, {t for clue in self._clues[s] for t in self._there.get(clue, ())}

    def of_like_rank(self) -> _Possible:
        """Yield those of records that come about as early, or as late, of all that share the clue."""
        ranks: Counter[int] = Counter()
        for s in self._ours:
            near: set[int] = set()
            for clue in self._clues[s]:
                others = self._there.get(clue, ())
                for rank in (ranks[clue], ranks[clue] + len(others) - len(self._here[clue])):
                    near.update(others[max(0, rank - _RANKS) : max(0, rank + _RANKS + 1)])
                ranks[clue] += 1
            yield s, near

    def unique(self) -> Pairs:
        """Return those of records that share a clue which no other one has, in the order of the source."""
        once = ((each[0], self._there.get(clue, ())) for clue, each in self._here.items() if len(each) == 1)
        return sorted({(s, others[0]) for s, others in once if len(others) == 1})


def _by_clue(indexes: range, clues: _Clues) -> Mapping[int, Sequence[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for index in indexes:
        for clue in clues[index]:
            found[clue].append(index)
    return found


def _heaviest(possible: _Possible, weights: _Weights) -> Pairs:
    """Return the heaviest series of pairs that rises on both sides; of several, the first."""
    # Series by the index on the target that they end with: both that and their weight rise, so no better one is lost.
    ends: list[int] = []
    sums: list[int] = []
    series: list[_Series | None] = []
    for s, others in possible:
        # From the last one on: so no series gets two pairs of the same record of the source.
        for t in sorted(others, reverse=True):
            at = bisect_left(ends, t)
            total = weights.of(s, t) + (sums[at - 1] if at else 0)
            if at < len(ends) and ends[at] == t and sums[at] >= total:
                continue
            worse = at
            while worse < len(ends) and sums[worse] <= total:
                worse += 1
            before = series[at - 1] if at else None
            ends[at:worse], sums[at:worse], series[at:worse] = [t], [total], [_Series(s, t, before)]
    found: Pairs = []
    last = series[-1] if series else None
    while last is not None:
        found.append((last.source, last.target))
        last = last.before
    return found[::-1]


class _Series(NamedTuple):
    """The last pair of a series, and what comes before it."""

    source: int
    target: int
    before: _Series | None


def _between(ours: range, theirs: range, anchors: Pairs) -> Iterator[tuple[range, range]]:
    s, t = ours.start, theirs.start
    for source, target in (*anchors, (ours.stop, theirs.stop)):
        if s < source and t < target:
            yield range(s, source), range(t, target)
        s, t = source + 1, target + 1
