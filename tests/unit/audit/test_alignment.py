from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.audit import alignment
from kafka_dr.audit.alignment import Block, IndexedHashes, align, aligned

hashes = st.lists(st.integers(0, 6), max_size=40)


class ListPair:
    """Two sequences in memory, as plainly as can be."""

    def __init__(self, source: Sequence[int], target: Sequence[int]) -> None:
        self._source, self._target = source, target

    @property
    def lengths(self) -> tuple[int, int]:
        return len(self._source), len(self._target)

    def in_step(self, source: int, target: int) -> int:
        pairs = zip(self._source[source:], self._target[target:], strict=False)
        return next(
            (n for n, (one, other) in enumerate(pairs) if one != other),
            min(len(self._source) - source, len(self._target) - target),
        )

    def shared(self, source: range, target: range, most: int | None = None) -> tuple[IndexedHashes, IndexedHashes]:
        common = {self._source[s] for s in source} & {self._target[t] for t in target}
        sides = ((self._source, source), (self._target, target))
        kept = [[at for at in window if hashes[at] in common][:most] for hashes, window in sides]
        return (
            IndexedHashes(kept[0], [self._source[s] for s in kept[0]]),
            IndexedHashes(kept[1], [self._target[t] for t in kept[1]]),
        )


def blocks_of(source: Sequence[int], target: Sequence[int]) -> list[Block]:
    return list(aligned(ListPair(source, target)))


def matched(blocks: Sequence[Block]) -> int:
    return sum(block.length for block in blocks)


def longest_common(source: Sequence[int], target: Sequence[int]) -> int:
    row = [0] * (len(target) + 1)
    for record in source:
        before = 0
        for place, other in enumerate(target):
            before, row[place + 1] = (
                row[place + 1],
                before + 1 if record == other else max(row[place + 1], row[place]),
            )
    return row[-1]


def are_copies(source: Sequence[int], target: Sequence[int], blocks: Sequence[Block]) -> bool:
    rising = all(a.source + a.length <= b.source and a.target + a.length <= b.target for a, b in pairwise(blocks))
    return rising and all(
        list(source[b.source : b.source + b.length]) == list(target[b.target : b.target + b.length]) for b in blocks
    )


@given(hashes)
def test_equal_sequences_are_one_block(records: list[int]) -> None:
    assert blocks_of(records, records) == ([Block(0, 0, len(records))] if records else [])


@given(hashes, hashes)
def test_what_is_matched_is_equal_and_in_order(source: list[int], target: list[int]) -> None:
    assert are_copies(source, target, align(source, target))
    assert are_copies(source, target, blocks_of(source, target))


@given(st.lists(st.integers(), unique=True, max_size=30), st.randoms(use_true_random=False))
def test_of_records_that_occur_once_as_many_as_can_be_are_matched(records: list[int], random) -> None:  # type: ignore[no-untyped-def]
    target = [record for record in records if random.random() < 0.8]
    for _ in range(3):
        if target:
            target.insert(random.randrange(len(target)), target.pop(random.randrange(len(target))))
    start = next((n for n, (a, b) in enumerate(zip(records, target, strict=False)) if a != b), None)
    if start is not None:
        assert matched(align(records[start:], target[start:])) == longest_common(records[start:], target[start:])


def test_a_lost_record_a_repeated_one_and_a_strange_one_leave_the_rest_matched() -> None:
    source = list(range(1000))
    target = [*range(300), *range(301, 500), 499, *range(500, 700), -1, *range(700, 1000)]
    assert blocks_of(source, target) == [
        Block(0, 0, 300),
        Block(301, 300, 199),
        Block(500, 500, 200),
        Block(700, 701, 300),
    ]


def test_long_stretches_that_are_lost_or_sent_again_are_looked_past() -> None:
    source = list(range(20_000))
    assert blocks_of(source, [*range(5_000), *range(9_000, 20_000)]) == [Block(0, 0, 5000), Block(9000, 5000, 11_000)]
    again = [*range(12_000), *range(2_000, 20_000)]
    assert blocks_of(source, again) == [Block(0, 0, 12_000), Block(12_000, 22_000, 8_000)]


def test_of_records_with_the_same_content_the_first_are_matched() -> None:
    assert blocks_of([7, 7, 7, 8], [7, 7, 8]) == [Block(0, 0, 2), Block(3, 2, 1)]
    assert blocks_of([7, 8], [7, 7, 8]) == [Block(0, 0, 1), Block(1, 2, 1)]


def test_nothing_in_common_is_no_block() -> None:
    assert blocks_of([1, 2, 3], [4, 5]) == []
    assert blocks_of([], [4, 5]) == []


def test_many_records_with_few_contents_are_still_aligned() -> None:
    source = [n % 3 for n in range(3_000)]
    target = [9, *source[:1_500], *source[1_502:]]
    blocks = blocks_of(source, target)
    assert are_copies(source, target, blocks)
    assert matched(blocks) >= 2_900


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_AT_ONCE", 256)


@pytest.mark.usefixtures("few_at_once")
def test_of_millions_that_are_shared_the_first_ones_show_where_both_run_in_step_again() -> None:
    source = list(range(40_000))
    assert blocks_of(source, source[5_000:]) == [Block(5_000, 0, 35_000)]
    assert blocks_of(source[5_000:], source) == [Block(0, 5_000, 35_000)]


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("every", [2, 10])
def test_records_that_never_run_in_step_for_long_are_matched_part_by_part(every: int) -> None:
    source = list(range(20_000))
    lost = [record for record in source if record % every]
    twice = [record for record in source for _ in range(1 if record % every else 2)]
    assert matched(blocks_of(source, lost)) == len(lost)
    assert matched(blocks_of(source, twice)) == len(source)


@pytest.mark.usefixtures("few_at_once")
def test_halves_that_were_swapped_are_looked_at_as_a_whole() -> None:
    source = list(range(4_000))
    target = [*source[2_000:], *source[:2_000]]
    assert matched(blocks_of(source, target)) == 2_000


@given(st.lists(st.integers(0, 60), max_size=120), st.lists(st.integers(0, 60), max_size=120), st.integers(1, 40))
def test_however_few_are_looked_at_first_what_is_matched_is_equal_and_in_order(
    source: list[int], target: list[int], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "_AT_ONCE", most)
        patch.setattr(alignment, "_FIRST_WINDOW", 8)
        assert are_copies(source, target, blocks_of(source, target))
