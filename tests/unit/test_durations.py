"""Durations for people have units that fit their size, and at most two of them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from kafka_dr.durations import about, age_of, duration

ROOT = Path(__file__).resolve().parents[2]
#: A number of seconds in a sentence that could be thousands, and minutes as a fraction.
SIBLINGS = re.compile(r":,?(?:g|\.0f|\.3g)\} (?:s\b|minutes|hours)")
#: A mistake in the topology names the number that was written there, and the vantage is one file that imports none.
ALLOWED = {f"include/kafka_dr/{name}.py" for name in ("topology/rules", "durations", "vantage_server")}


@pytest.mark.parametrize(
    ("seconds", "exact", "largest"),
    [
        (0, "0 s", "0 s"), (-3, "0 s", "0 s"), (0.0412, "0.0412 s", "0.0412 s"), (9.94, "9.94 s", "9.94 s"),
        (25, "25 s", "25 s"), (90.0, "90 s", "90 s"), (119.6, "120 s", "120 s"), (120, "2 min", "2 min"),
        (185, "3 min 5 s", "3 min"), (3600, "1 h", "1 h"), (3605, "1 h", "1 h"), (3900, "1 h 5 min", "1 h"),
        (86_400, "1 day", "1 day"), (90_000, "1 day 1 h", "1 day"), (86_460, "1 day", "1 day"),
        (200_000, "2 days 7 h", "2 days"),
    ],
)  # fmt: skip
def test_a_duration_has_units_that_fit_its_size(seconds: float, exact: str, largest: str) -> None:
    assert (duration(seconds), about(seconds)) == (exact, largest)
    assert duration(timedelta(seconds=seconds)) == exact


@pytest.mark.parametrize(("seconds", "age"), [(0.2, "0 s ago"), (7.08, "7 s ago"), (119.7, "2 min ago")])
def test_an_age_has_no_fraction(seconds: float, age: str) -> None:
    assert age_of(timedelta(seconds=seconds)) == age


@pytest.mark.parametrize("folder", ["include/kafka_dr", "plugins", "spark", "dags"])
def test_no_sentence_writes_a_duration_by_itself(folder: str) -> None:
    paths = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
    found = [str(path) for path in paths if SIBLINGS.search((ROOT / path).read_text("utf-8"))]
    assert sorted({*found} - ALLOWED) == []
