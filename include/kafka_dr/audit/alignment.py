"""Aligns two sequences of record hashes: which record of the target is the copy of which record of the source.

A copy keeps the order, so both sequences mostly run in step, which is cheap to see. Where they differ, both
are looked at through windows that grow until they run in step again. Inside a window, records that occur once in each
sequence are the anchors (patience diff), and between anchors the longest common subsequence decides. The result is a
list of blocks that rise in both sequences; the records between two blocks are unmatched.
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
#: Shared records of a window that are looked at first: mostly they are enough, and a window may hold millions.
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
    """Two sequences of hashes, in memory or in files."""

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


class NumberPair:
    """Two sequences of hashes in lists."""

    def __init__(self, source: Sequence[int], target: Sequence[int]) -> None:
        self.source, self.target = source, target

    @property
    def lengths(self) -> tuple[int, int]:
        """How many records the source and the target have."""
        return len(self.source), len(self.target)

    def in_step(self, source: int, target: int) -> int:
        """Return how many records are equal one by one from these indexes on."""
        most = min(len(self.source) - source, len(self.target) - target)
        return next((n for n in range(most) if self.source[source + n] != self.target[target + n]), most)

    def shared(self, source: range, target: range, most: int | None = None) -> tuple[IndexedHashes, IndexedHashes]:
        """Return the records of two windows whose content occurs in both; of each window only the first ``most``."""
        both = {self.source[s] for s in source} & {self.target[t] for t in target}
        on_source = [s for s in source if self.source[s] in both][:most]
        on_target = [t for t in target if self.target[t] in both][:most]
        return (
            IndexedHashes(on_source, [self.source[s] for s in on_source]),
            IndexedHashes(on_target, [self.target[t] for t in on_target]),
        )


def aligned(pair: SequencePair) -> Iterator[Block]:
    """Yield the blocks of equal records, rising on source and target, each as long as possible."""
    return _joined(_found(pair))


def longest_window(unequal: int) -> int:
    """Return how large a window is, at most, that sees both sequences run in step again.

    :param unequal: how far that is from where they ceased to, in records of the sequence that has more of them
    """
    size = _FIRST_WINDOW
    while size < unequal + _CONFIRMED:
        size *= _GROWTH
    # A window with many shared records is looked at in halves, and may then begin with another size.
    return size if size <= 4 * _AT_ONCE else _GROWTH * (unequal + _CONFIRMED)


def is_believed(block: Block) -> bool:
    """Return whether a block is long enough to show that both sequences run in step."""
    return block.length >= _CONFIRMED


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
    """Return the blocks from two unequal records to where both run in step again; none if they never do."""
    source_end, target_end = pair.lengths
    size = _FIRST_WINDOW
    found: list[Block] = []
    while True:
        sources, targets = (
            range(source, min(source_end, source + size)),
            range(target, min(target_end, target + size)),
        )
        shared = pair.shared(sources, targets, _AT_ONCE)
        if max(len(each.indexes) for each in shared) == _AT_ONCE:
            begun = _matched(*shared)
            if believed := _believed(begun):
                return found + believed
            if half := _first_half(begun):
                found += half
                source, target = half[-1].source + half[-1].length, half[-1].target + half[-1].length
                # The window is as large as was needed to see that much; each window is sorted as a whole.
                size = min(size, 4 * _AT_ONCE)
                continue
            shared = pair.shared(sources, targets)
        blocks = _matched(*shared)
        if sources.stop == source_end and targets.stop == target_end:
            return found + blocks
        if believed := _believed(blocks):
            return found + believed
        size *= _GROWTH


def _believed(blocks: list[Block]) -> list[Block]:
    """Return the blocks up to one in which both run in step for long enough."""
    return blocks[: next((n for n in range(len(blocks), 0, -1) if is_believed(blocks[n - 1])), 0)]


def _first_half(blocks: list[Block]) -> list[Block]:
    """Return the first half of the blocks of a long window's start; none if they match too few records.

    The sequences may never run in step for long, for example if each record was copied twice. The first half of the
    blocks is far from the end of the window, so what follows the window cannot change it.
    """
    return blocks[: len(blocks) // 2] if sum(block.length for block in blocks) >= _AT_ONCE // 4 else []


def _matched(source: IndexedHashes, target: IndexedHashes) -> list[Block]:
    """Align the hashes, and return the blocks as indexes of the sequences."""
    matches = (
        (source.indexes[block.source + n], target.indexes[block.target + n])
        for block in align(source.hashes, target.hashes)
        for n in range(block.length)
    )
    return list(_joined(Block(source_index, target_index, 1) for source_index, target_index in matches))


def align(source: Sequence[int], target: Sequence[int]) -> list[Block]:
    """Align two short sequences as a whole."""
    found: list[Block] = []
    # Ranges that are not aligned yet, the first one at the end.
    left = [(range(len(source)), range(len(target)))]
    while left:
        sources, targets = left.pop()
        start = _common_start(source, sources, target, targets)
        if start:
            found.append(Block(sources.start, targets.start, start))
            sources, targets = sources[start:], targets[start:]
        if not sources or not targets:
            continue
        anchors = _anchors(source, sources, target, targets)
        if not anchors:
            found += _common_subsequence(source, sources, target, targets)
            continue
        found += (Block(*anchor, 1) for anchor in anchors)
        left += _between(sources, targets, anchors)
    return list(_joined(sorted(found)))


def _between(sources: range, targets: range, anchors: Sequence[tuple[int, int]]) -> list[tuple[range, range]]:
    starts = [(sources.start, targets.start), *((source + 1, target + 1) for source, target in anchors)]
    ends = [*anchors, (sources.stop, targets.stop)]
    return [
        (range(s, source_end), range(t, target_end))
        for (s, t), (source_end, target_end) in zip(starts, ends, strict=True)
        if s < source_end and t < target_end
    ]


def _common_start(source: Sequence[int], sources: range, target: Sequence[int], targets: range) -> int:
    length = 0
    for s, t in zip(sources, targets, strict=False):
        if source[s] != target[t]:
            break
        length += 1
    return length


def _anchors(source: Sequence[int], sources: range, target: Sequence[int], targets: range) -> list[tuple[int, int]]:
    """Return the longest rising series of records that occur exactly once in each sequence."""
    in_source, in_target = Counter(source[s] for s in sources), Counter(target[t] for t in targets)
    index = {target[t]: t for t in targets if in_target[target[t]] == 1}
    once = [(s, index[source[s]]) for s in sources if in_source[source[s]] == 1 and source[s] in index]
    return _longest_rising(once)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest series that rises in both indexes, of pairs that rise in the first one."""
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


def _common_subsequence(source: Sequence[int], sources: range, target: Sequence[int], targets: range) -> list[Block]:
    """Match records that occur more than once: as many as possible if that is cheap, else the n-th with the n-th."""
    if len(sources) * len(targets) > _MOST_CELLS:
        return [Block(s, t, 1) for s, t in _longest_rising(_by_occurrence(source, sources, target, targets))]
    width = len(targets) + 1
    best = [0] * (width * (len(sources) + 1))
    for s in reversed(range(len(sources))):
        for t in reversed(range(len(targets))):
            same = source[sources[s]] == target[targets[t]]
            at = s * width + t
            best[at] = best[at + width + 1] + 1 if same else max(best[at + width], best[at + 1])
    blocks, s, t = [], 0, 0
    while s < len(sources) and t < len(targets):
        if source[sources[s]] == target[targets[t]]:
            blocks.append(Block(sources[s], targets[t], 1))
            s, t = s + 1, t + 1
        elif best[(s + 1) * width + t] >= best[s * width + t + 1]:
            s += 1
        else:
            t += 1
    return blocks


def _by_occurrence(
    source: Sequence[int], sources: range, target: Sequence[int], targets: range
) -> list[tuple[int, int]]:
    seen: Counter[int] = Counter()
    indexes: dict[tuple[int, int], int] = {}
    for t in targets:
        indexes[target[t], seen[target[t]]] = t
        seen[target[t]] += 1
    seen.clear()
    pairs = []
    for s in sources:
        index = indexes.get((source[s], seen[source[s]]))
        seen[source[s]] += 1
        if index is not None:
            pairs.append((s, index))
    return pairs


def _joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join each block with the one that continues it."""
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
