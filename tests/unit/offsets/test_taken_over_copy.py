"""I3 below the point where a take over began: an at-least-once flow copied twice, left out and changed the order there.

The generator knows which copies each record has. The audit aligns both logs as it does on real clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.alignment import aligned
from kafka_dr.audit.copies import Entry
from kafka_dr.audit.counted_ranges import gathered
from kafka_dr.audit.difference import REPEATED
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.offset_runs import OffsetRun, spread
from kafka_dr.observation.records import NumberedPair
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.by_content import begin, finish
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.offsets.translate.taken_over_copy import DisplacedRange, TakenOverCopy
from kafka_dr.offsets.translate.without_source import KnownPoints, translate_by_known_points
from kafka_dr.positions import CountedRange, OffsetPair, OffsetRange, SeedPoint
from support.search_logs import PARTITION
from support.seen_logs import compared, log, seen

MOST = 24


@dataclass(frozen=True)
class OldCopy:
    """What a flow copied before the take over, and after it this project's flow.

    :param source: contents of the source
    :param origins: of each record of the target, the offset of its original; negative if it has none
    :param until: where this project's flow began
    :param starts: of the logs now, on source and target: what is below has expired
    """

    source: tuple[int, ...]
    origins: tuple[int, ...]
    until: SeedPoint
    starts: tuple[int, int] = (0, 0)

    @property
    def target(self) -> list[int]:
        """Contents of the target."""
        return [origin if origin < 0 else self.source[origin] for origin in self.origins]

    def copies(self, offset: int) -> list[int]:
        return [n for n, origin in enumerate(self.origins) if origin == offset and n >= self.starts[1]]

    def late(self, position: int, answer: int) -> list[int]:
        """Return the unread records that the target holds and that nobody reads from the answer on.

        An equal record that was read before is left out: if only one of both was copied, nothing shows which.
        """
        known = {*self.target[answer:], *self.source[:position]}
        unread = range(position, len(self.source))
        return [r for r in unread if self.copies(r) and self.source[r] not in known]

    def again(self, position: int, answer: int) -> int:
        """Return how many records are read once more from the answer on: read before, or twice there."""
        read = [origin for origin in self.origins[answer:] if origin >= 0]
        return len(read) - len({origin for origin in read if origin >= position})

    def audited(self, most: int) -> TakenOverCopy:
        """Return what the audit of a take over journals."""
        source, target = (
            log(seen(n, content) for n, content in enumerate(contents))
            for contents in (self.source[: self.until.source], self.target[: self.until.target])
        )
        runs = [OffsetRun(*block) for block in aligned(NumberedPair(source, target))]
        found = compared(source, target).differences
        displaced = tuple(
            DisplacedRange(_range(each.source_offset, each.count), _range(each.target_offset, each.count))
            for each in found
            if each.kind is FindingKind.REORDERED
        )
        ranges = (_range(each.target_offset, each.count) for each in found if each.kind in REPEATED)
        twice = gathered((CountedRange(each.start, each.end, len(each)) for each in ranges), most)
        return TakenOverCopy(self.until, tuple(SeedPoint(*pair) for pair in spread(runs, most)), displaced, twice)


def _range(start: int | None, count: int) -> OffsetRange:
    assert start is not None
    return OffsetRange(start, start + count)


@st.composite
def old_copies(draw: st.DrawFn, *, contents: st.SearchStrategy[int] | None = None) -> OldCopy:
    count = draw(st.integers(0, MOST))
    source = tuple(range(count)) if contents is None else tuple(draw(contents) for _ in range(count))
    target: list[int] = []
    at = reached = 0
    for _ in range(draw(st.integers(0, 6))):
        batch = list(range(count))[at : at + draw(st.integers(0, 8))]
        at += len(batch)
        reached = max(reached, at) if batch else reached
        if draw(st.booleans()):
            batch = draw(st.permutations(batch))
        if draw(st.sampled_from([False, False, True])):
            batch.append(-1 - len(target))
        target += batch
        # It dies before it commits, or somebody moves its position on.
        at = draw(st.sampled_from([at, at, max(0, at - draw(st.integers(0, 8))), min(count, at + 2), reached]))
    until = SeedPoint(reached, len(target))
    origins = (*target, *range(reached, count))
    starts = draw(st.sampled_from([(0, 0), (draw(st.integers(0, count)), draw(st.integers(0, len(origins))))]))
    return OldCopy(source, origins, until, starts)


def translated(
    copy: OldCopy, known: TakenOverCopy, position: int, anchors: Sequence[SeedPoint | OffsetPair] = ()
) -> Translation:
    """Translate as the cut-over does."""
    on_source, on_target = (
        [Entry(n, str(content).encode()) for n, content in enumerate(contents)]
        for contents in (copy.source, copy.target)
    )
    held = RangePair(OffsetRange(copy.starts[0], len(on_source)), OffsetRange(copy.starts[1], len(on_target)))
    searches = begin({PARTITION: [position]}, {PARTITION: held}, {PARTITION: known.usable(anchors)}, {PARTITION: known})

    def cut(entries: Sequence[Entry], ranges: Sequence[OffsetRange]) -> list[Entry]:
        return [entry for r in ranges for entry in entries[r.start : r.end]]

    finish(
        searches,
        lambda source, target: (
            {p: cut(on_source, tuple(ranges)) for p, ranges in source.items()},
            {p: cut(on_target, tuple(ranges)) for p, ranges in target.items()},
        ),
    )
    (search,) = searches[PARTITION]
    assert search.result is not None
    return known.counted(known.not_late(search.result), len(copy.target))


def assert_true_of(copy: OldCopy, position: int, answer: Translation) -> None:
    """No unread record is skipped, and no more is read again than was said."""
    if answer.target_offset is None:
        return
    assert not copy.late(position, answer.target_offset), answer
    assert answer.redelivered_at_most is not None
    assert copy.again(position, answer.target_offset) <= answer.redelivered_at_most, answer
    assert answer.kind == "bounded" or answer.redelivered_at_most == 0
    assert answer.second_copies <= answer.redelivered_at_most


@given(old_copies(), st.integers(1, 12), st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_an_old_flow_did_no_group_is_late(copy: OldCopy, most: int, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(copy.source)))
    # Offset syncs of the old flow may name any of several copies.
    pairs = [OffsetPair(r, found) for r in range(len(copy.source)) for found in copy.copies(r)]
    anchors = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    answer = translated(copy, copy.audited(most), position, anchors)
    assert_true_of(copy, position, answer)


def test_what_was_read_and_comes_after_an_unread_record_is_counted() -> None:
    copy = OldCopy((0, 1, 2, 3), (0, 3, 1, 2), SeedPoint(4, 4))
    for position in range(5):
        for most in (1, 2, 3):
            assert_true_of(copy, position, translated(copy, copy.audited(most), position))


@given(old_copies(contents=st.integers(0, 3)), st.integers(1, 12), st.data())
@settings(max_examples=60, deadline=None)
def test_records_that_look_alike_make_no_group_late(copy: OldCopy, most: int, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(copy.source)))
    answer = translated(copy, copy.audited(most), position)
    assert answer.target_offset is None or not copy.late(position, answer.target_offset), answer


@given(old_copies(), st.integers(1, 12), st.data())
@settings(max_examples=60, deadline=None)
def test_without_the_source_no_group_is_late_either(copy: OldCopy, most: int, data: st.DataObject) -> None:
    known, held = copy.audited(most), OffsetRange(copy.starts[1], len(copy.target))
    position = data.draw(st.integers(0, len(copy.source)))
    above = [
        SeedPoint(copy.until.source + n, copy.until.target + n) for n in range(1, len(copy.source) - copy.until.source)
    ]
    points = KnownPoints.of([*known.certain, *above], held, counted_from=known.until.source)
    stretch = points.to_count(position)
    records = None if stretch is None else list(range(stretch.start, stretch.end))
    answer = known.counted(known.not_late(translate_by_known_points(position, points, records)), len(copy.target))
    assert_true_of(copy, position, answer)


@given(st.integers(0, MOST), st.integers(0, MOST), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_below_a_faultless_copy_nothing_comes_again(count: int, reached: int, most: int) -> None:
    source = tuple(range(count))
    copy = OldCopy(source, source, SeedPoint(min(reached, count), min(reached, count)))
    for position in range(count + 1):
        answer = translated(copy, copy.audited(most), position)
        assert (answer.kind, answer.target_offset) == ("exact", position)


def test_a_record_that_is_there_once_proves_no_order_where_another_made_the_copy() -> None:
    """Its first copy has expired, and so has that of the record before it, which came again after it."""
    copy = OldCopy(tuple(range(7)), (0, 1, 2, 3, 4, 5, 6, 6, 5), SeedPoint(7, 9), starts=(0, 6))
    assert translated(copy, copy.audited(1), 5).target_offset is None


def test_where_the_take_over_began_is_believed_without_looking_at_records() -> None:
    copy = OldCopy((), (-1,), SeedPoint(0, 1))
    assert translated(copy, copy.audited(1), 0).target_offset == 1


def test_the_known_points_are_the_same_seen_from_the_other_cluster() -> None:
    known = TakenOverCopy(
        SeedPoint(10, 14), (SeedPoint(0, 2),), (DisplacedRange(OffsetRange(3, 4), OffsetRange(7, 8)),)
    )
    assert known.reversed == TakenOverCopy(
        SeedPoint(14, 10), (SeedPoint(2, 0),), (DisplacedRange(OffsetRange(7, 8), OffsetRange(3, 4)),)
    )
    assert known.reversed.reversed == known
    assert replace(known, second_copies=(CountedRange(8, 10, 2),)).reversed == known.reversed
    assert (known.covers(10), known.covers(11)) == (True, False)


def test_of_the_part_that_another_made_only_its_own_points_are_used() -> None:
    known = TakenOverCopy(SeedPoint(10, 14), (SeedPoint(0, 2),))
    anchors: list[Anchor] = [OffsetPair(5, 6), SeedPoint(10, 13), OffsetPair(11, 15)]
    assert known.usable(anchors) == [SeedPoint(0, 2), SeedPoint(10, 14), OffsetPair(11, 15)]


@pytest.mark.parametrize(
    ("position", "answer", "wanted"),
    [
        (3, ("exact", 9, 0), ("bounded", 7, 2)),
        (4, ("exact", 9, 0), ("exact", 9, 0)),
        (3, ("exact", 6, 0), ("exact", 6, 0)),
        (3, ("bounded", 9, 4), ("bounded", 7, 6)),
        (11, ("exact", 15, 0), ("exact", 15, 0)),
    ],
)
def test_an_answer_after_an_unread_record_in_another_order_is_set_back(
    position: int, answer: tuple[str, int, int], wanted: tuple[str, int, int]
) -> None:
    known = TakenOverCopy(SeedPoint(10, 14), (), (DisplacedRange(OffsetRange(3, 4), OffsetRange(7, 8)),))
    kind, offset, again = answer
    found = known.not_late(Translation(position, offset, kind, again, "said"))  # type: ignore[arg-type]
    assert (found.kind, found.target_offset, found.redelivered_at_most) == wanted


@pytest.mark.parametrize(
    ("position", "answer", "end", "wanted"),
    [
        # All second copies, some of them, none.
        (3, ("exact", 3, 0), 90, ("bounded", 20, 20)),
        (3, ("exact", 45, 0), 90, ("bounded", 5, 5)),
        (3, ("exact", 50, 0), 90, ("exact", 0, 0)),
        # What a group has read and the target has in another order, at 60 and 61, comes again, too.
        (25, ("exact", 50, 0), 90, ("bounded", 2, 0)),
        (21, ("exact", 50, 0), 90, ("bounded", 1, 0)),
        (25, ("exact", 61, 0), 90, ("bounded", 1, 0)),
        # Of an offset that is only bounded, all that is read since an aligned record may come again.
        (13, ("bounded", 3, 0), 90, ("bounded", 30, 20)),
        # No less than was known, and no more than there is.
        (3, ("bounded", 3, 80), 90, ("bounded", 80, 20)),
        (3, ("bounded", 3, 0), 21, ("bounded", 18, 18)),
        (3, ("bounded", 3, 87), 90, ("bounded", 87, 20)),
        (3, ("unknown", None, None), 90, ("unknown", None, 0)),
        (3, ("declared", 3, None), 90, ("declared", None, 0)),
    ],
)
def test_what_comes_twice_is_counted_with_the_answer(
    position: int, answer: tuple[str, int | None, int | None], end: int, wanted: tuple[str, int | None, int]
) -> None:
    kind, offset, again = answer
    known = TakenOverCopy(
        SeedPoint(70, 70),
        (SeedPoint(3, 3), SeedPoint(position if kind == "exact" else 3, offset or 3)),
        displaced=(DisplacedRange(OffsetRange(20, 22), OffsetRange(60, 62)),),
        second_copies=(CountedRange(30, 50, 20),),
    )
    found = known.counted(Translation(position, offset, kind, again, "said"), end)  # type: ignore[arg-type]
    assert (found.kind, found.redelivered_at_most, found.second_copies) == wanted
    assert ("holds at most" in found.reason) == bool(found.second_copies)


def test_second_copies_between_the_aligned_record_below_and_the_answer_count_too() -> None:
    """The audit may have aligned either copy: if it called the first one the second, the other one comes again."""
    known = TakenOverCopy(SeedPoint(70, 90), (SeedPoint(3, 3),), second_copies=(CountedRange(3, 10, 7),))
    found = known.counted(Translation(10, 10, "exact", 0, "said"), 90)
    assert (found.kind, found.redelivered_at_most) == ("bounded", 7)
