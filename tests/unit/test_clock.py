from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kafka_dr.clock import Clock, SystemClock
from support.manual_clock import ManualClock


def test_sleeping_moves_both_faces_of_a_manual_clock() -> None:
    clock: Clock = ManualClock(datetime(2026, 11, 20, 3, 0, tzinfo=UTC))

    clock.sleep(90)

    assert clock.now() == datetime(2026, 11, 20, 3, 1, 30, tzinfo=UTC)
    assert clock.monotonic() == 90


def test_a_manual_clock_shows_utc_wherever_it_was_started() -> None:
    clock = ManualClock(datetime(2026, 11, 20, 5, 0, tzinfo=timezone(timedelta(hours=2))))

    assert clock.now().utcoffset() == timedelta(0)
    assert clock.now().hour == 3


def test_a_negative_sleep_waits_for_nothing_and_a_negative_advance_is_refused() -> None:
    clock = ManualClock()
    clock.sleep(-1)
    assert clock.monotonic() == 0

    with pytest.raises(ValueError, match="only goes forward"):
        clock.advance(-1)


def test_a_manual_clock_refuses_a_start_without_time_zone() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        ManualClock(datetime(2026, 11, 20))  # noqa: DTZ001


def test_the_system_clock_is_aware_and_monotonic() -> None:
    clock: Clock = SystemClock()
    before = clock.monotonic()
    clock.sleep(0)

    assert clock.now().utcoffset() == timedelta(0)
    assert clock.monotonic() >= before
