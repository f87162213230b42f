"""A look waits for nothing longer than is left of its own time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafka_dr.health.time_left import TimeBudget


def test_what_is_waited_for_gets_its_own_time_or_what_is_left_of_the_looks() -> None:
    now = [100.0]
    clock: Any = SimpleNamespace(monotonic=lambda: now[0])
    left = TimeBudget(clock, 45.0)
    assert left.at_most(25.0) == 25.0
    now[0] += 31.0
    assert left.at_most(25.0) == 14.0
    now[0] += 20.0
    assert left.at_most(25.0) == 0.0
