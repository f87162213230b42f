"""What is known of an offset: from audits, when it had not arrived, and from commits, when it was read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.conflicts.arrivals import ArrivalMarks, OffsetMark, stretches, translated
from kafka_dr.positions import OffsetPair

MARKS = st.lists(st.builds(OffsetMark, st.integers(0, 12), st.integers(0, 50)), max_size=8).map(tuple)


@given(MARKS, MARKS, st.integers(0, 15))
def test_an_offset_has_the_last_time_of_absence_and_the_first_one_of_reading(
    absent: tuple[OffsetMark, ...], read: tuple[OffsetMark, ...], offset: int
) -> None:
    found = stretches([ArrivalMarks(), ArrivalMarks(absent, read)])
    assert found[0].first == 0
    assert [each.first for each in found[1:]] == [each.after for each in found[:-1]]
    assert found[-1].after is None
    (at,) = (each for each in found if each.first <= offset and (each.after is None or offset < each.after))
    assert at.not_before == (None, max((ms for first, ms in absent if first <= offset), default=None))
    assert at.read_by == (None, min((ms for after, ms in read if offset < after), default=None))


def test_what_was_committed_on_a_copy_is_translated_down_to_a_pair_that_was_read() -> None:
    pairs = [OffsetPair(10, 100), OffsetPair(20, 110), OffsetPair(30, 125)]
    committed = [OffsetMark(100, 1), OffsetMark(101, 2), OffsetMark(125, 3), OffsetMark(900, 4)]
    assert translated(committed, pairs) == (OffsetMark(11, 2), OffsetMark(21, 3), OffsetMark(31, 4))


def test_pairs_that_contradict_each_other_say_less() -> None:
    pairs = [OffsetPair(10, 100), OffsetPair(50, 105), OffsetPair(20, 110)]
    assert translated([OffsetMark(106, 1), OffsetMark(111, 2)], pairs) == (OffsetMark(21, 1), OffsetMark(21, 2))
