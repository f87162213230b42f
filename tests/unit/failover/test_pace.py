"""Which groups the drain waits for: those that will be at the end in time, and no others."""

from __future__ import annotations

import pytest

from kafka_dr.failover.planned.drain import will_reach_end


@pytest.mark.parametrize(
    ("before", "left", "expected"),
    [
        pytest.param(100, 50, True, id="half done in half a second"),
        pytest.param(100, 0, True, id="there"),
        pytest.param(100, 100, False, id="makes no progress"),
        pytest.param(100_000, 99_900, False, id="far behind and slow"),
        pytest.param(100, 76, False, id="a little too slow"),
        pytest.param(100, 75, True, id="just in time"),
        pytest.param(100, 120, False, id="went back"),
    ],
)
def test_a_group_is_waited_for_if_its_pace_brings_it_to_the_end_in_time(before: int, left: int, expected: bool) -> None:
    assert will_reach_end(before, left, passed=0.5, remaining=1.5) is expected
