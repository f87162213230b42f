from __future__ import annotations

import pytest

from kafka_dr.checks.positions_topic import judged

WEEK_MS = "604800000"


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({"segment.bytes": "1048576", "segment.ms": WEEK_MS}, "ok"),
        ({"segment.bytes": "1073741824", "segment.ms": "60000"}, "ok"),
        ({"segment.bytes": "1073741824", "segment.ms": WEEK_MS}, "warning"),
        ({"segment.bytes": "1048576"}, "warning"),
    ],
)
def test_large_segments_are_a_warning_that_says_what_to_set(settings: dict[str, str], outcome: str) -> None:
    found = judged("connect-west-offsets on west", settings)
    assert found.outcome == outcome
    assert found.passes, "positions are right all the same"
    assert f"segment.bytes {settings['segment.bytes']}" in found.detail
    assert ("kafka-configs.sh" in found.detail) is (outcome == "warning")
