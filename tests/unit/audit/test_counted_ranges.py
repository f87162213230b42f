"""What is journaled of second copies stays small, and never says less than there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.counted_ranges import gathered
from kafka_dr.positions import CountedRange


@st.composite
def ranges(draw: st.DrawFn) -> list[CountedRange]:
    found, at = [], 0
    for _ in range(draw(st.integers(0, 30))):
        start = at + draw(st.integers(0, 20))
        records = draw(st.integers(1, 50))
        at = start + records + draw(st.integers(0, 5))
        found.append(CountedRange(start, at, records))
    return found


@pytest.mark.parametrize(("offset", "records"), [(0, 5), (10, 5), (12, 5), (15, 5), (16, 4), (19, 1), (20, 0), (99, 0)])
def test_of_a_range_that_was_begun_as_many_records_are_left_as_it_has_offsets(offset: int, records: int) -> None:
    assert CountedRange(10, 20, 5).from_on(offset) == records


@given(ranges(), st.integers(1, 12), st.integers(0, 2_000))
@settings(max_examples=200, deadline=None)
def test_few_ranges_never_say_less_and_hardly_more(found: list[CountedRange], most: int, offset: int) -> None:
    few = gathered(reversed(found), most)
    assert len(few) <= most
    total = sum(each.records for each in found)
    assert sum(each.records for each in few) == total
    exact, said = (sum(each.from_on(offset) for each in some) for some in (found, few))
    assert exact <= said <= exact + total / most


def test_few_ranges_stay_as_they_are_and_empty_ones_go() -> None:
    some = (CountedRange(1, 5, 2), CountedRange(9, 10, 1))
    assert gathered((some[1], CountedRange(6, 7, 0), some[0]), 2) == some


def test_ranges_of_which_only_the_start_is_known_are_joined_to_the_farthest_end() -> None:
    assert gathered([CountedRange(0, 90, 3), CountedRange(10, 20, 3)], 1) == (CountedRange(0, 90, 6),)
