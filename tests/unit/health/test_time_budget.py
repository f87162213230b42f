"""A health check waits for nothing longer than what is left of its own time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafka_dr.health.health_check import TimeBudget


def test_a_wait_gets_its_own_timeout_or_what_is_left_of_the_check() -> None:
    now = [100.0]
    clock: Any = SimpleNamespace(monotonic=lambda: now[0])
    budget = TimeBudget(clock, 45.0)
    assert budget.at_most(25.0) == 25.0
    now[0] += 31.0
    assert budget.at_most(25.0) == 14.0
    now[0] += 20.0
    assert budget.at_most(25.0) == 0.0
