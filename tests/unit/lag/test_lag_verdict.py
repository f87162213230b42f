from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.lag.verdict import ENOUGH, LagVerdict, Sample, judge, worst

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALLOWED = 60.0


def looks(*seen: tuple[int, int], seconds: float = 600.0, active: bool | None = True) -> tuple[Sample, ...]:
    """Looks every five minutes; each is position and end."""
    return tuple(
        Sample(
            at=START + timedelta(minutes=5 * number),
            position=position,
            end=end,
            records=end - position,
            seconds=seconds if end > position else 0.0,
            active=active,
        )
        for number, (position, end) in enumerate(seen)
    )


def judged(samples: tuple[Sample, ...]) -> LagVerdict:
    return judge(samples, allowed_seconds=ALLOWED)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ([(5, 5)], LagVerdict.OK),
        ([(5, 9)], LagVerdict.NOT_ENOUGH_DATA),
        ([(5, 9), (6, 9)], LagVerdict.NOT_ENOUGH_DATA),
        ([(5, 9), (6, 9), (7, 9)], LagVerdict.OK),
        ([(5, 9), (5, 12), (5, 12)], LagVerdict.STALL),
        ([(5, 9), (6, 12), (7, 20)], LagVerdict.WARN),
        ([(5, 9), (6, 10), (7, 11)], LagVerdict.WARN),
        ([(5, 9), (6, 12), (9, 14)], LagVerdict.OK),
        ([(5, 9), (4, 9)], LagVerdict.REWIND),
        ([(9, 9), (4, 9)], LagVerdict.REWIND),
        ([(5, 9), (4, 9), (5, 9), (6, 9)], LagVerdict.OK),
        ([(5, 9), (4, 9), (9, 9)], LagVerdict.OK),
        ([(5, 5), (5, 9)], LagVerdict.OK),
        ([(5, 5), (5, 9), (5, 12)], LagVerdict.OK),
        ([(5, 5), (5, 9), (5, 12), (5, 12)], LagVerdict.STALL),
        ([(1, 9), (2, 9), (9, 9), (9, 10), (9, 11)], LagVerdict.OK),
    ],
)
def test_the_trend_decides(seen: list[tuple[int, int]], verdict: LagVerdict) -> None:
    assert judged(looks(*seen)) is verdict


def test_a_reader_that_is_gone_has_stopped_as_soon_as_two_looks_find_the_same_position() -> None:
    assert judged(looks((5, 9), active=False)) is LagVerdict.NOT_ENOUGH_DATA
    assert judged(looks((5, 9), (5, 9), active=False)) is LagVerdict.STOP
    assert judged(looks((5, 9), (6, 9), (7, 9), active=False)) is LagVerdict.OK
    assert judged(looks((5, 5), (5, 9), active=False)) is LagVerdict.OK
    assert judged(looks((5, 5), (5, 9), (5, 9), active=False)) is LagVerdict.STOP


def test_a_reader_of_unknown_state_stalls_and_is_not_called_stopped() -> None:
    assert judged(looks((5, 9), (5, 9), (5, 9), active=None)) is LagVerdict.STALL


def test_what_is_young_is_no_lag_however_much_it_is() -> None:
    assert judged(looks((5, 90_000), seconds=ALLOWED)) is LagVerdict.OK
    assert judged(looks((5, 90_000), seconds=ALLOWED + 1)) is LagVerdict.NOT_ENOUGH_DATA


def test_a_lag_of_unknown_age_is_not_young() -> None:
    sample = Sample(START, position=5, end=9, records=4, seconds=None)
    assert judged((sample,)) is LagVerdict.NOT_ENOUGH_DATA


def test_nothing_seen_is_not_enough() -> None:
    assert judged(()) is LagVerdict.NOT_ENOUGH_DATA


def test_the_worst_of_several_is_named_and_of_none_nothing_is_known() -> None:
    assert worst([LagVerdict.OK, LagVerdict.WARN, LagVerdict.STOP]) is LagVerdict.STOP
    assert worst([LagVerdict.OK, LagVerdict.NOT_ENOUGH_DATA]) is LagVerdict.NOT_ENOUGH_DATA
    assert worst([]) is LagVerdict.NOT_ENOUGH_DATA


@given(
    before=st.lists(st.tuples(st.integers(0, 50), st.integers(50, 99)), max_size=8),
    still=st.integers(ENOUGH, 6),
    active=st.sampled_from([True, False, None]),
)
def test_three_looks_at_an_old_record_that_nobody_reads_are_never_called_fine(
    before: list[tuple[int, int]], still: int, active: bool | None
) -> None:
    found = judged(looks(*before, *[(50, 100)] * still, active=active))
    assert found in {LagVerdict.STOP, LagVerdict.STALL}


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(50, 99)), min_size=1, max_size=12))
def test_a_reader_that_has_read_everything_is_ok_whatever_was_before(before: list[tuple[int, int]]) -> None:
    assert judged(looks(*before, (100, 100))) is LagVerdict.OK
