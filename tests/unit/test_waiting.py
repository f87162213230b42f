"""Waiting: it stops when the condition holds or the time is over, and returns what was seen last."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.waiting import wait_until
from support.manual_clock import ManualClock


def counter(clock: ManualClock, *, takes: float = 0.0) -> Callable[[], int]:
    numbers: Iterator[int] = iter(range(1, 100))

    def look() -> int:
        clock.advance(takes)
        return next(numbers)

    return look


def test_it_stops_as_soon_as_the_condition_holds() -> None:
    clock = ManualClock()
    assert wait_until(counter(clock), lambda n: n == 3, clock=clock, seconds=10, pause_seconds=1) == 3
    assert clock.monotonic() == 2


def test_when_the_time_is_over_the_last_result_is_returned() -> None:
    clock = ManualClock()
    assert wait_until(counter(clock), lambda _: False, clock=clock, seconds=2.5, pause_seconds=1) == 4
    assert clock.monotonic() == 3


def test_it_looks_once_even_without_time() -> None:
    clock = ManualClock()
    assert wait_until(counter(clock, takes=0.1), lambda _: False, clock=clock, seconds=-5, pause_seconds=1) == 1
    assert clock.monotonic() == pytest.approx(0.1)


def test_a_retried_error_is_raised_only_when_the_time_is_over() -> None:
    clock = ManualClock()
    look = counter(clock)

    def fails_twice() -> int:
        if (number := look()) < 3:
            raise TryAgain(f"try {number}")
        return number

    found = wait_until(fails_twice, bool, clock=clock, seconds=5, pause_seconds=1, retry=TryAgain)
    assert (found, clock.monotonic()) == (3, 2)

    def fails() -> int:
        raise TryAgain(f"try {look()}")

    with pytest.raises(TryAgain, match="try 6"):
        wait_until(fails, bool, clock=clock, seconds=1.5, pause_seconds=1, retry=TryAgain)


def test_any_other_error_is_raised_at_once() -> None:
    clock = ManualClock()

    def refuses() -> int:
        raise Refused("no")

    with pytest.raises(Refused):
        wait_until(refuses, bool, clock=clock, seconds=5, pause_seconds=1, retry=TryAgain)
    assert clock.monotonic() == 0
