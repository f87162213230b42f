from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.lag.assessment import Latency
from kafka_dr.lag.retention import Retention, headroom_seconds
from kafka_dr.lag.unread import Stretch, StretchContent, Unread, age_seconds, before, cut
from kafka_dr.lag.verdict import Sample

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MS = int(NOW.timestamp() * 1000)


def stretches(*positions: int, start: int = 0, end: int = 100, most: int = 1000) -> tuple[Stretch, ...]:
    return cut("t", 0, positions=positions, start=start, end=end, most=most)


def look(minutes_ago: float, *, position: int, end: int, records: int | None = None) -> Sample:
    unread = end - position if records is None else records
    return Sample(NOW - timedelta(minutes=minutes_ago), position, end, unread, None)


def test_each_offset_is_read_once_however_many_readers_wait_for_it() -> None:
    assert [(each.start, each.end) for each in stretches(40, 10, 40, 70)] == [(10, 40), (40, 70), (70, 100)]


def test_nothing_is_read_where_everybody_is_done() -> None:
    assert stretches(100, 100) == ()
    assert stretches() == ()


def test_positions_outside_of_the_log_are_those_of_its_ends() -> None:
    assert [(each.start, each.end) for each in stretches(3, 700, start=20)] == [(20, 100)]


@given(st.lists(st.integers(0, 100)), st.integers(0, 50), st.integers(1, 30))
def test_stretches_join_without_a_gap_from_the_first_reader_to_the_end(
    positions: list[int], start: int, most: int
) -> None:
    found = stretches(*positions, start=start, most=most)
    covered = [offset for each in found for offset in range(each.start, each.end)]
    first = min((max(each, start) for each in positions), default=100)
    assert covered == list(range(first, 100))
    assert all(each.start < each.read_end <= min(each.end, each.start + most) for each in found)


def test_a_reader_has_not_read_the_stretches_from_its_position_on() -> None:
    one, two = stretches(10, 40)
    read = [(two, StretchContent(55, 5500, 2000)), (one, StretchContent(30, 600, 1000))]
    assert before(10, read) == Unread(85, 6100, 1000)
    assert before(40, read) == Unread(55, 5500, 2000)
    assert before(100, read) == Unread()
    assert before(10, read, until=40) == Unread(30, 600, 1000)


def test_a_stretch_without_data_records_leaves_the_first_timestamp_to_the_next() -> None:
    one, two = stretches(10, 40)
    assert before(10, [(one, StretchContent(0, 0, None)), (two, StretchContent(1, 9, 7))]) == Unread(1, 9, 7)


def test_what_was_not_read_to_its_end_is_estimated_and_said_to_be() -> None:
    (only,) = stretches(0, most=10)
    assert before(0, [(only, StretchContent(9, 900, 5))]) == Unread(90, 9000, 5, exact=False)


def test_where_only_control_records_were_read_the_rest_may_be_records_of_any_age() -> None:
    one, two = stretches(0, 50, most=10)
    assert before(0, [(one, StretchContent(0, 0, None)), (two, StretchContent(10, 100, 7))]) == Unread(
        40 + 50, 500, None, exact=False
    )


def test_age_is_that_of_the_timestamp_where_nothing_else_is_known() -> None:
    assert age_seconds(MS - 90_000, position=5, now=NOW) == 90
    assert age_seconds(MS + 5_000, position=5, now=NOW) == 0
    assert age_seconds(None, position=5, now=NOW) is None


def test_what_was_not_there_at_a_look_is_younger_than_the_look() -> None:
    ancient = MS - 10**10
    assert age_seconds(ancient, position=5, now=NOW, earlier=[look(10, position=1, end=5)]) == 600
    assert age_seconds(ancient, position=5, now=NOW, earlier=[look(10, position=1, end=6)]) == 10**7


def test_control_records_before_a_reader_are_no_unread_records() -> None:
    earlier = [look(10, position=5, end=9, records=0)]
    assert age_seconds(MS - 10**10, position=5, now=NOW, earlier=earlier) == 600


def test_what_was_unread_at_a_look_is_at_least_as_old_as_the_look() -> None:
    future = MS + 10**9
    assert age_seconds(future, position=5, now=NOW, earlier=[look(10, position=5, end=6)]) == 600
    assert age_seconds(future, position=5, now=NOW, earlier=[look(10, position=4, end=6)]) == 0


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, Retention()),
        ({"retention.ms": "60000", "retention.bytes": "-1"}, Retention(60.0, None)),
        ({"retention.ms": "-1", "retention.bytes": "500"}, Retention(None, 500)),
        ({"cleanup.policy": "compact", "retention.ms": "60000"}, Retention()),
        ({"cleanup.policy": "compact, delete", "retention.ms": "0"}, Retention(0.0, None)),
    ],
)
def test_retention_is_what_the_configuration_says(config: dict[str, str], expected: Retention) -> None:
    assert Retention.of(config) == expected


@pytest.mark.parametrize(
    ("retention", "unread", "seconds"),
    [
        (Retention(), Unread(5, 50, MS), None),
        (Retention(600.0), Unread(), 600.0),
        (Retention(600.0), Unread(5, 50, MS - 100_000), 500.0),
        (Retention(600.0), Unread(5, 50, MS - 700_000), 0.0),
        (Retention(None, 1000), Unread(5, 50, MS), 95.0),
        (Retention(60.0, 1000), Unread(5, 50, MS), 60.0),
        (Retention(None, 40), Unread(5, 50, MS), 0.0),
        (Retention(None, 1000), Unread(), None),
    ],
)
def test_headroom_is_the_earlier_of_age_and_size(retention: Retention, unread: Unread, seconds: float | None) -> None:
    """The log grows by one record of ten bytes a second."""
    samples = [look(10, position=0, end=0), look(0, position=0, end=600)]
    assert headroom_seconds(retention, unread, now=NOW, samples=samples) == seconds


def test_a_log_that_does_not_grow_deletes_nothing_by_size() -> None:
    still = [look(10, position=0, end=9), look(0, position=0, end=9)]
    assert headroom_seconds(Retention(None, 1000), Unread(5, 50, MS), now=NOW, samples=still) is None
    assert headroom_seconds(Retention(None, 1000), Unread(5, 50, MS), now=NOW, samples=still[:1]) is None


def test_percentiles_are_measurements() -> None:
    assert Latency.of(each / 10 for each in range(1, 101)) == Latency(100, 5.0, 9.5, 9.9, 10.0)
    assert Latency.of([0.25]) == Latency(1, 0.25, 0.25, 0.25, 0.25)
    assert Latency.of([-3.0, 1.0]) == Latency(2, 0.0, 1.0, 1.0, 1.0)
    assert Latency.of([]) is None
