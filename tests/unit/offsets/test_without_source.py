"""Random logs whose truth the generator knows: counted on the target alone, no answer is ever past an unread record."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.offsets.translate.without_source import KnownPoints, translate_by_known_points
from kafka_dr.positions import OffsetRange, SeedPoint


@dataclass(frozen=True)
class CopiedLog:
    """A source of records and other offsets, and its copy, which has markers of its own.

    :param source: for each offset of the source, whether it is a record
    :param copies: the offset on the target of each record that was copied, in order
    """

    source: tuple[bool, ...]
    copies: tuple[int, ...]
    end: int

    @property
    def records(self) -> list[int]:
        """Source offsets of the records that were copied."""
        return [offset for offset, record in enumerate(self.source) if record][: len(self.copies)]


@st.composite
def worlds(draw: st.DrawFn) -> CopiedLog:
    source = tuple(draw(st.lists(st.booleans(), max_size=40)))
    copied = draw(st.integers(0, sum(source)))
    gaps = draw(st.lists(st.integers(0, 2), min_size=copied + 1, max_size=copied + 1))
    copies, at = [], 0
    for gap in gaps[:copied]:
        at += gap
        copies.append(at)
        at += 1
    return CopiedLog(source, tuple(copies), at + gaps[-1])


def known_of(world: CopiedLog, synced: frozenset[int]) -> KnownPoints:
    """Return what syncs of some of the records say, and what was committed at the end."""
    pairs = [SeedPoint(0, 0)]
    for number in synced:
        if number < len(world.copies):
            here, there = world.records[number], world.copies[number]
            pairs += [SeedPoint(here, there), SeedPoint(here + 1, there + 1)]
    copied = world.records[-1] + 1 if world.copies else 0
    return KnownPoints.of([*pairs, SeedPoint(copied, world.end)], OffsetRange(0, world.end))


def placed(world: CopiedLog, known: KnownPoints, position: int) -> int:
    stretch = known.to_count(position)
    seen = None if stretch is None else [o for o in world.copies if stretch.start <= o < stretch.end]
    offset = translate_by_known_points(position, known, seen).target_offset
    assert offset is not None
    return offset


@given(worlds(), st.frozensets(st.integers(0, 40), max_size=4), st.integers(0, 45))
def test_no_unread_record_is_below_the_answer(world: CopiedLog, synced: frozenset[int], position: int) -> None:
    offset = placed(world, known_of(world, synced), min(position, len(world.source)))
    unread = [there for here, there in zip(world.records, world.copies, strict=True) if here >= position]
    assert all(there >= offset for there in unread)


@given(worlds(), st.frozensets(st.integers(0, 40), max_size=4), st.integers(0, 45))
def test_what_is_read_again_is_bounded_by_what_was_said(
    world: CopiedLog, synced: frozenset[int], position: int
) -> None:
    position = min(position, len(world.source))
    known = known_of(world, synced)
    stretch = known.to_count(position)
    seen = None if stretch is None else [o for o in world.copies if stretch.start <= o < stretch.end]
    found = translate_by_known_points(position, known, seen)
    again = [
        there
        for here, there in zip(world.records, world.copies, strict=True)
        if here < position and there >= (found.target_offset or 0)
    ]
    assert found.redelivered_at_most is not None
    assert len(again) <= found.redelivered_at_most


@given(worlds(), st.frozensets(st.integers(0, 40), max_size=4), st.integers(0, 45), st.data())
def test_what_the_targets_cleaner_took_away_makes_no_group_late(
    world: CopiedLog, synced: frozenset[int], position: int, data: st.DataObject
) -> None:
    """Pairs were written down before it; what is left is counted after it."""
    gone = data.draw(st.sets(st.sampled_from(world.copies[:-1]))) if len(world.copies) > 1 else set()
    known, position = known_of(world, synced), min(position, len(world.source))
    stretch = known.to_count(position)
    held = [there for there in world.copies if there not in gone]
    seen = None if stretch is None else [o for o in held if stretch.start <= o < stretch.end]
    found = translate_by_known_points(position, known, seen)
    pairs = [(here, there) for here, there in zip(world.records, world.copies, strict=True) if there not in gone]
    assert found.target_offset is not None
    assert all(there >= found.target_offset for here, there in pairs if here >= position)
    again = [there for here, there in pairs if here < position and there >= found.target_offset]
    assert found.redelivered_at_most is not None
    assert len(again) <= found.redelivered_at_most


def test_where_every_offset_is_a_record_counting_is_exact() -> None:
    copies = (0, 1, 3, 4, 6)
    known = KnownPoints.of([SeedPoint(0, 0), SeedPoint(5, 7)], OffsetRange(0, 7))
    assert [translate_by_known_points(position, known, copies).target_offset for position in range(1, 5)] == [
        1,
        3,
        4,
        6,
    ]


def test_after_all_that_was_copied_a_group_resumes_at_the_end() -> None:
    known = KnownPoints.of([SeedPoint(0, 0), SeedPoint(5, 7)], OffsetRange(0, 7))
    assert translate_by_known_points(9, known, None).target_offset == 7


def test_up_to_a_point_with_quarantined_records_below_it_nothing_is_counted() -> None:
    known = KnownPoints.of([SeedPoint(0, 0)], OffsetRange(0, 9), not_counted=[SeedPoint(5, 9)])
    assert known.to_count(3) is None
    assert translate_by_known_points(3, known, None).target_offset == 0


def test_of_two_points_that_contradict_each_other_the_earlier_one_counts() -> None:
    known = KnownPoints.of([SeedPoint(4, 9), SeedPoint(5, 6)], OffsetRange(0, 12))
    assert known.points == (SeedPoint(5, 6),)


def test_from_the_start_no_more_comes_again_than_was_read_unless_records_are_there_twice() -> None:
    held = OffsetRange(0, 41)
    assert translate_by_known_points(3, KnownPoints.of([], held), None).redelivered_at_most == 3
    assert translate_by_known_points(3, KnownPoints.of([], held, counted_from=9), None).redelivered_at_most == 41
