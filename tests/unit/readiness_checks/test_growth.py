"""Room for retention: what a log will hold follows from its rate, its retention and its size limit."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from kafka_dr.readiness_checks.growth import GrowingLog, full_size, judge_growth, rate_since
from support.sentences import assert_sentence

GIB = float(1 << 30)
DAY = 86_400.0


@pytest.mark.parametrize(
    ("config", "full"),
    [
        ({"retention.ms": "3600000", "retention.bytes": "-1"}, 36_000.0),
        ({"retention.ms": "3600000", "retention.bytes": "500"}, 500.0),
        ({"retention.ms": "-1", "retention.bytes": "500"}, 500.0),
        ({"retention.ms": "-1", "retention.bytes": "-1"}, math.inf),
        ({"cleanup.policy": "compact", "retention.ms": "-1"}, 77.0),
        ({"cleanup.policy": "compact,delete", "retention.ms": "3600000"}, 36_000.0),
        ({}, math.inf),
    ],
)
def test_a_log_is_full_when_it_is_as_old_or_as_large_as_it_may_be(config: dict[str, str | None], full: float) -> None:
    assert full_size(10.0, 77.0, config) == full


def log(*, days: float = math.inf, replicas: int = 3) -> GrowingLog:
    """Return an empty log that gets one GiB a day and keeps so many days."""
    return GrowingLog(0.0, GIB / DAY, days * GIB, replicas)


def test_what_fits_is_good_and_says_how_much_it_is() -> None:
    found = judge_growth("west", [log(days=7)], 100 * GIB)
    assert found.outcome == "ok"
    assert_sentence(found.detail)


def test_what_does_not_fit_warns_and_says_when_the_disks_are_full() -> None:
    found = judge_growth("west", [log(days=7)], 15 * GIB)
    assert found.outcome == "warning"
    assert_sentence(found.detail)


def test_disks_that_are_full_within_a_day_are_no_warning() -> None:
    found = judge_growth("west", [log(days=7)], 1 * GIB)
    assert found.outcome == "failed"
    assert_sentence(found.detail)


def test_a_topic_of_which_nothing_is_deleted_is_named_only_if_it_fills_the_disks_soon() -> None:
    soon = judge_growth("west", [log(), log(days=7)], 60 * GIB)
    assert soon.outcome == "warning"
    assert_sentence(soon.detail)
    assert judge_growth("west", [log(), log(days=7)], 600 * GIB).outcome == "ok"


def test_topics_that_nobody_writes_to_need_nothing() -> None:
    assert judge_growth("west", [GrowingLog(5.0, 0.0, math.inf, 3)], 0.0).outcome == "ok"
    assert judge_growth("west", [], 0.0).outcome == "ok"


@pytest.mark.parametrize(
    ("start", "end", "since", "rate"),
    [(0, 100, 50, 5.0), (60, 100, 50, 10.0), (0, 100, None, 0.0), (100, 100, 100, 0.0), (0, 100, 0, 10.0)],
)
def test_a_rate_is_what_was_written_since_then_by_the_average_size_of_a_record(
    start: int, end: int, since: int | None, rate: float
) -> None:
    assert rate_since(start, end, since, 1000, timedelta(seconds=100)) == rate
