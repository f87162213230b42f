"""Aligning two sequences of record hashes: which record on the target is the copy of which one on the source.

A copy keeps the order, so both sequences mostly run in step, and running in step is cheap to see. Where they part, both
are looked at through windows that grow until they run in step again; inside, records that occur once on either side are
the anchors (patience), and between anchors the longest common subsequence decides. What is matched in the end are
blocks, rising on both sides; everything between two blocks is left for classification.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

#: Records in step after which a window is believed.
_CONFIRMED = 16
_FIRST_WINDOW = 128
_GROWTH = 8
#: Shared records of a window that are looked at first: mostly they tell enough, and a window may hold millions.
_AT_ONCE = 131_072
#: The longest common subsequence costs the product of both lengths.
_MOST_CELLS = 40_000


class Block(NamedTuple):
    """Records that are equal one by one: indexes in both sequences, not offsets."""

    source: int
    target: int
    length: int


class IndexedHashes(NamedTuple):
    """Some records of a sequence: their indexes, rising, and their hashes."""

    indexes: Sequence[int]
    hashes: Sequence[int]


class SequencePair(Protocol):
    """Two sequences of hashes, whatever holds them."""

    @property
    def lengths(self) -> tuple[int, int]:
        """How many records the source and the target have."""
        ...

    def in_step(self, source: int, target: int) -> int:
        """Return how many records are equal one by one from these indexes on."""
        ...

    def shared(self, source: range, target: range, most: int | None = None) -> tuple[IndexedHashes, IndexedHashes]:
        """Return the records of two windows whose hashes occur in both; of each window only the first ``most``."""
        ...


def aligned(pair: SequencePair) -> Iterator[Block]:
    """Yield the blocks of records that are each other's copy, rising on both sides and as long as they can be."""
    return _joined(_found(pair))


def _found(pair: SequencePair) -> Iterator[Block]:
    source = target = 0
    source_end, target_end = pair.lengths
    while source < source_end and target < target_end:
        length = pair.in_step(source, target)
        blocks = [Block(source, target, length)] if length else _resumed(pair, source, target)
        if not blocks:
            return
        yield from blocks
        source, target = blocks[-1].source + blocks[-1].length, blocks[-1].target + blocks[-1].length


def _resumed(pair: SequencePair, source: int, target: int) -> list[Block]:
    """Return the blocks from two indexes that differ to where both run in step again; none where they never do."""
    source_end, target_end = pair.lengths
    size = _FIRST_WINDOW
    found: list[Block] = []
    while True:
        here, there = range(source, min(source_end, source + size)), range(target, min(target_end, target + size))
        shared = pair.shared(here, there, _AT_ONCE)
        if max(len(each.indexes) for each in shared) == _AT_ONCE:
            begun = _matched(*shared)
            if believed := _believed(begun):
                return found + believed
            if half := _first_half(begun):
                found += half
                source, target = half[-1].source + half[-1].length, half[-1].target + half[-1].length
                # As large a window as it took to see that much; each is sorted as a whole.
                size = min(size, 4 * _AT_ONCE)
                continue
            shared = pair.shared(here, there)
        blocks = _matched(*shared)
        if here.stop == source_end and there.stop == target_end:
            return found + blocks
        if believed := _believed(blocks):
            return found + believed
        size *= _GROWTH


def _believed(blocks: list[Block]) -> list[Block]:
    """Return those up to where both run in step for long enough."""
    return blocks[: next((n for n in range(len(blocks), 0, -1) if blocks[n - 1].length >= _CONFIRMED), 0)]


def _first_half(blocks: list[Block]) -> list[Block]:
    """Return the first half of what the beginning of many records shows; nothing where that is too little.

    Both may never run in step for long, as when each record came twice; the first half is far from what was cut off.
    """
    return blocks[: len(blocks) // 2] if sum(block.length for block in blocks) >= _AT_ONCE // 4 else []


def _matched(source: IndexedHashes, target: IndexedHashes) -> list[Block]:
    """Align the hashes and return the blocks in terms of the indexes."""
    matches = (
        (source.indexes[block.source + n], target.indexes[block.target + n])
        for block in align(source.hashes, target.hashes)
        for n in range(block.length)
    )
    return list(_joined(Block(here, there, 1) for here, there in matches))


def align(source: Sequence[int], target: Sequence[int]) -> list[Block]:
    """Align two short sequences as a whole."""
    found: list[Block] = []
    # Stretches still to be aligned, the first one on top.
    left = [(range(len(source)), range(len(target)))]
    while left:
        here, there = left.pop()
        start = _common_start(source, here, target, there)
        if start:
            found.append(Block(here.start, there.start, start))
            here, there = here[start:], there[start:]
        if not here or not there:
            continue
        anchors = _anchors(source, here, target, there)
        if not anchors:
            found += _common_subsequence(source, here, target, there)
            continue
        found += (Block(*anchor, 1) for anchor in anchors)
        left += _between(here, there, anchors)
    return list(_joined(sorted(found)))


def _between(here: range, there: range, anchors: Sequence[tuple[int, int]]) -> list[tuple[range, range]]:
    starts = [(here.start, there.start), *((source + 1, target + 1) for source, target in anchors)]
    ends = [*anchors, (here.stop, there.stop)]
    return [
        (range(s, source_end), range(t, target_end))
        for (s, t), (source_end, target_end) in zip(starts, ends, strict=True)
        if s < source_end and t < target_end
    ]


def _common_start(source: Sequence[int], here: range, target: Sequence[int], there: range) -> int:
    length = 0
    for s, t in zip(here, there, strict=False):
        if source[s] != target[t]:
            break
        length += 1
    return length


def _anchors(source: Sequence[int], here: range, target: Sequence[int], there: range) -> list[tuple[int, int]]:
    """Return the longest rising series of records that occur exactly once on either side."""
    times_here, times_there = Counter(source[s] for s in here), Counter(target[t] for t in there)
    index = {target[t]: t for t in there if times_there[target[t]] == 1}
    once = [(s, index[source[s]]) for s in here if times_here[source[s]] == 1 and source[s] in index]
    return _longest_rising(once)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest series of pairs, rising in the first, that rises in the second, too."""
    lowest_ends: list[int] = []
    holders: list[int] = []
    previous: list[int] = []
    for number, (_, target) in enumerate(pairs):
        length = bisect_left(lowest_ends, target)
        previous.append(holders[length - 1] if length else -1)
        if length == len(lowest_ends):
            lowest_ends.append(target)
            holders.append(number)
        else:
            lowest_ends[length], holders[length] = target, number
    series: list[tuple[int, int]] = []
    number = holders[-1] if holders else -1
    while number >= 0:
        series.append(pairs[number])
        number = previous[number]
    return series[::-1]


def _common_subsequence(source: Sequence[int], here: range, target: Sequence[int], there: range) -> list[Block]:
    """Match what occurs more than once: as much as possible where that is cheap, else each n-th with the n-th."""
    if len(here) * len(there) > _MOST_CELLS:
        return [Block(s, t, 1) for s, t in _longest_rising(_by_occurrence(source, here, target, there))]
    width = len(there) + 1
    best = [0] * (width * (len(here) + 1))
    for s in reversed(range(len(here))):
        for t in reversed(range(len(there))):
            same = source[here[s]] == target[there[t]]
            at = s * width + t
            best[at] = best[at + width + 1] + 1 if same else max(best[at + width], best[at + 1])
    blocks, s, t = [], 0, 0
    while s < len(here) and t < len(there):
        if source[here[s]] == target[there[t]]:
            blocks.append(Block(here[s], there[t], 1))
            s, t = s + 1, t + 1
        elif best[(s + 1) * width + t] >= best[s * width + t + 1]:
            s += 1
        else:
            t += 1
    return blocks


def _by_occurrence(source: Sequence[int], here: range, target: Sequence[int], there: range) -> list[tuple[int, int]]:
    seen: Counter[int] = Counter()
    indexes: dict[tuple[int, int], int] = {}
    for t in there:
        indexes[target[t], seen[target[t]]] = t
        seen[target[t]] += 1
    seen.clear()
    pairs = []
    for s in here:
        index = indexes.get((source[s], seen[source[s]]))
        seen[source[s]] += 1
        if index is not None:
            pairs.append((s, index))
    return pairs


def _joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join blocks that go on where the one before ends."""
    last: Block | None = None
    for block in blocks:
        if last is None:
            last = block
        elif last.source + last.length == block.source and last.target + last.length == block.target:
            last = Block(last.source, last.target, last.length + block.length)
        else:
            yield last
            last = block
    if last is not None:
        yield last


class ListPair:
    """Two sequences in memory."""

    def __init__(self, source: Sequence[int], target: Sequence[int]) -> None:
        self._source = source
        self._target = target

    @property
    def lengths(self) -> tuple[int, int]:
        """How many records the source and the target have."""
        return len(self._source), len(self._target)

    def in_step(self, source: int, target: int) -> int:
        """Return how many records are equal one by one from these indexes on."""
        here, there = range(source, len(self._source)), range(target, len(self._target))
        return _common_start(self._source, here, self._target, there)

    def shared(self, source: range, target: range, most: int | None = None) -> tuple[IndexedHashes, IndexedHashes]:
        """Return the records of two windows whose hashes occur in both; of each window only the first ``most``."""
        common = {self._source[s] for s in source} & {self._target[t] for t in target}
        here = [s for s in source if self._source[s] in common][:most]
        there = [t for t in target if self._target[t] in common][:most]
        return IndexedHashes(here, [self._source[s] for s in here]), IndexedHashes(
            there, [self._target[t] for t in there]
        )
