"""Pairs the records of source and target that have most in common, in order.

What two records have in common counts for more if fewer records have it, and for a quarter with each further part that
differs: a weak likeness never takes a record from a strong one (after Fellegi and Sunter, "A Theory for Record
Linkage", 1969). The answer is the heaviest of all series of pairs that rise on both clusters. If too many pairs are
possible, records with a part that no other record of their cluster has divide the range first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import log2
from typing import NamedTuple

#: Possible pairs of a range that are weighed. If target are more, unique records divide the range first.
_MOST_WEIGHED = 60_000
#: How often a range is divided before only records of about the same rank are weighed.
_DEEPEST = 12
#: Records in a row that are compared as one if none of them has a part that is unique.
_IN_A_ROW = 8
#: How much the ranks of two records may differ if only those of about the same rank are weighed.
_RANKS = 2
#: What one bit counts for, and what two records count for that have nothing in common.
_BIT, _LIKE = 1 << 16, 1 << 14
_PARTS = range(4)

#: Indexes on source and target.
Pairs = list[tuple[int, int]]
#: By record, the numbers of its identifying parts.
_Clues = Sequence[Sequence[int]]
#: Indexes of the source, rising, each with those of the target that it may be.
_Possible = Iterable[tuple[int, Iterable[int]]]


class Traits(NamedTuple):
    """What is known of a record.

    :param time: milliseconds since the epoch; ``None`` if it is not compared
    :param key: the content, or its digest; ``None`` if it is null
    :param value: the same
    :param headers: their digest
    :param seen: whether more than the time is known
    """

    time: int | None
    key: bytes | None = None
    value: bytes | None = None
    headers: bytes | None = None
    seen: bool = True


def paired(source: Sequence[Traits], target: Sequence[Traits]) -> Pairs:
    """Return the pairs, rising on source and target.

    Time and memory grow with the number of records, not with its square.
    """
    if len(source) == len(target) and all(_nearly_equal(s, t) for s, t in zip(source, target, strict=True)):
        return [(n, n) for n in range(len(source))]
    weights, clues = _Weights(source, target), _clues(source, target)
    rows: tuple[_Clues, _Clues] | None = None
    found: Pairs = []
    left = [(range(len(source)), range(len(target)), 0)]
    while left:
        sources, targets, depth = left.pop()
        stretch = _PairingRange(sources, targets, clues)
        if stretch.possible_pairs <= _MOST_WEIGHED:
            found += _heaviest(stretch.possible(), weights)
            continue
        unique = stretch.unique()
        if not unique:
            rows = rows or _rows(source, target)
            unique = _PairingRange(sources, targets, rows).unique()
        if depth == _DEEPEST or not unique:
            found += _heaviest(stretch.of_like_rank(), weights)
            continue
        anchors = _heaviest(((s, (t,)) for s, t in unique), weights)
        found += anchors
        left += [(s, t, depth + 1) for s, t in _between(sources, targets, anchors)]
    return sorted(found)


def displaced(source: Sequence[Traits], target: Sequence[Traits], pairs: Pairs) -> Pairs:
    """Return the pairs among the remaining records, which are in another order.

    Only one part of them may differ, and a part of the rest has to identify these two records alone.

    :param pairs: the pairs that were found in order
    """
    sources, targets = {s for s, _ in pairs}, {t for _, t in pairs}
    if len(sources) == len(source) or len(targets) == len(target):
        return []
    found: Pairs = []
    for s, t in _PairingRange(range(len(source)), range(len(target)), _clues(source, target)).unique():
        if s not in sources and t not in targets and _nearly_equal(source[s], target[t]):
            sources.add(s)
            targets.add(t)
            found.append((s, t))
    return found


def _nearly_equal(one: Traits, other: Traits) -> bool:
    """Whether both were read, differ in at most one part, and are identified by the rest."""
    if not (one.seen and other.seen) or sum(one[part] != other[part] for part in _PARTS) > 1:
        return False
    return not set(_names(one, of_source=True)).isdisjoint(_names(other, of_source=False))


def _names(record: Traits, *, of_source: bool) -> Iterator[tuple[Hashable, ...]]:
    """Yield what identifies a record: two records that share none of it are not the same.

    That is the value, the timestamp and the key, or everything but one part. If either record was not read, it is the
    timestamp alone.

    :param of_source: whether it is a record of the source
    """
    time, key, value, headers, seen = record
    if time is not None:
        if not of_source or not seen:
            yield "source not seen", time
        if of_source == seen:
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


def _clues(source: Sequence[Traits], target: Sequence[Traits]) -> tuple[_Clues, _Clues]:
    numbers: dict[Hashable, int] = {}
    sources, targets = (
        [
            [numbers.setdefault(name, len(numbers)) for name in _names(record, of_source=records is source)]
            for record in records
        ]
        for records in (source, target)
    )
    return sources, targets


def _rows(source: Sequence[Traits], target: Sequence[Traits]) -> tuple[_Clues, _Clues]:
    """Return what identifies several records in a row, as clues of the first one."""
    numbers: dict[Hashable, int] = {}
    sides: list[_Clues] = []
    for records in (source, target):
        names = [{name[0]: name for name in _names(record, of_source=records is source)} for record in records]
        clues: list[list[int]] = [[] for _ in records]
        for kind in ("value", "time and key", "key"):
            for start in range(len(records) - _IN_A_ROW + 1):
                row = tuple(each.get(kind) for each in names[start : start + _IN_A_ROW])
                if None not in row:
                    clues[start].append(numbers.setdefault(row, len(numbers)))
        sides.append(clues)
    return sides[0], sides[1]


class _Weights:
    """How much two records have in common."""

    def __init__(self, source: Sequence[Traits], target: Sequence[Traits]) -> None:
        self._source, self._target = source, target
        total = len(source) + len(target)
        counts = [Counter(record[part] for record in chain(source, target)) for part in _PARTS]
        self._bits: list[dict[Hashable, int]] = [
            {content: round(_BIT * log2(total / count)) for content, count in each.items()} for each in counts
        ]

    def of(self, s: int, t: int) -> int:
        """Return the weight of a pair that may be one; never 0."""
        one, other = self._source[s], self._target[t]
        alike, differing = _LIKE, 0
        if not (one.seen and other.seen):
            return (alike + self._bits[0][one.time]) >> 2
        for part in _PARTS:
            content = one[part]
            if content != other[part]:
                differing += 1
            else:
                # That both records lack a part counts for less than that both have the same one.
                alike += self._bits[part][content] >> (0 if content else 2)
        return alike >> 2 * max(0, differing - 1)


class _PairingRange:
    """A range of source and target, and the pairs that are possible in it: of records that share a clue."""

    def __init__(self, sources: range, targets: range, clues: tuple[_Clues, _Clues]) -> None:
        self._sources, self._clues = sources, clues[0]
        self._source, self._target = _by_clue(sources, clues[0]), _by_clue(targets, clues[1])
        self.possible_pairs = sum(len(each) * len(self._target.get(clue, ())) for clue, each in self._source.items())

    def possible(self) -> _Possible:
        """Yield all of them."""
        for s in self._sources:
            yield s, {t for clue in self._clues[s] for t in self._target.get(clue, ())}

    def of_like_rank(self) -> _Possible:
        """Yield those whose rank among all records with the same clue is about equal, from either end."""
        ranks: Counter[int] = Counter()
        for s in self._sources:
            near: set[int] = set()
            for clue in self._clues[s]:
                others = self._target.get(clue, ())
                for rank in (ranks[clue], ranks[clue] + len(others) - len(self._source[clue])):
                    near.update(others[max(0, rank - _RANKS) : max(0, rank + _RANKS + 1)])
                ranks[clue] += 1
            yield s, near

    def unique(self) -> Pairs:
        """Return those that share a clue which no other record has, in the order of the source."""
        once = ((each[0], self._target.get(clue, ())) for clue, each in self._source.items() if len(each) == 1)
        return sorted({(s, others[0]) for s, others in once if len(others) == 1})


def _by_clue(indexes: range, clues: _Clues) -> Mapping[int, Sequence[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for index in indexes:
        for clue in clues[index]:
            found[clue].append(index)
    return found


def _heaviest(possible: _Possible, weights: _Weights) -> Pairs:
    """Return the heaviest series of pairs that rises on source and target; of several, the first."""
    # Series by the index on the target at which they end. That index and the weight both rise, so the best one is kept.
    ends: list[int] = []
    sums: list[int] = []
    series: list[_PairSeries | None] = []
    for s, others in possible:
        # In descending order, so that no series gets two pairs of the same record of the source.
        for t in sorted(others, reverse=True):
            at = bisect_left(ends, t)
            total = weights.of(s, t) + (sums[at - 1] if at else 0)
            if at < len(ends) and ends[at] == t and sums[at] >= total:
                continue
            worse = at
            while worse < len(ends) and sums[worse] <= total:
                worse += 1
            before = series[at - 1] if at else None
            ends[at:worse], sums[at:worse], series[at:worse] = [t], [total], [_PairSeries(s, t, before)]
    found: Pairs = []
    last = series[-1] if series else None
    while last is not None:
        found.append((last.source, last.target))
        last = last.before
    return found[::-1]


class _PairSeries(NamedTuple):
    """The last pair of a series, and what comes before it."""

    source: int
    target: int
    before: _PairSeries | None


def _between(sources: range, targets: range, anchors: Pairs) -> Iterator[tuple[range, range]]:
    s, t = sources.start, targets.start
    for source, target in (*anchors, (sources.stop, targets.stop)):
        if s < source and t < target:
            yield range(s, source), range(t, target)
        s, t = source + 1, target + 1
