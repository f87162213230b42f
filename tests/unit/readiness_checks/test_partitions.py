"""Partitions of the standby are judged by a limit that somebody declared; without one nobody has looked."""

from __future__ import annotations

import pytest

from kafka_dr.outcomes import CheckOutcome
from kafka_dr.positions import OffsetRange
from kafka_dr.readiness_checks.standby import StoredLog, bytes_to_come, judge_partitions
from support.sentences import assert_sentence


@pytest.mark.parametrize(
    ("to_come", "limit", "outcome"),
    [
        (0, 1000, "ok"),
        (6, 112, "ok"),
        (6, 111, "warning"),
        (6, 100, "warning"),
        (6, 99, "failed"),
        (0, None, "warning"),
    ],
)
def test_the_fullest_broker_decides_together_with_what_is_to_come(
    to_come: int, limit: int | None, outcome: CheckOutcome
) -> None:
    assert judge_partitions("west", {1: 98, 2: 40, 3: 40}, to_come, limit).outcome == outcome


def test_what_is_to_come_is_divided_among_the_brokers_and_rounded_up() -> None:
    found = judge_partitions("west", {1: 98, 2: 98, 3: 40}, 7, 1000)
    assert_sentence(found.detail)


def test_without_a_declared_limit_nobody_has_looked() -> None:
    found = judge_partitions("west", {1: 98}, 0, None)
    assert_sentence(found.detail)
    assert "max_partitions_per_broker" in found.detail


def log(start: int, end: int, size: int) -> StoredLog:
    return StoredLog(OffsetRange(start, end), size)


def test_what_is_to_come_is_counted_as_it_is_stored_there() -> None:
    uncompressed, compressed = log(0, 1000, 100_000), log(0, 500, 5_000)
    assert bytes_to_come(uncompressed, compressed, 500) == 5_000, "10 bytes an offset there"
    assert bytes_to_come(log(0, 1000, 10_000), log(0, 1000, 100_000), 1000) == 0, "however they differ"
    assert bytes_to_come(uncompressed, None, 0) == 100_000
    assert bytes_to_come(uncompressed, log(0, 0, 0), 0) == 100_000
    assert bytes_to_come(log(400, 1000, 60_000), None, 0) == 60_000, "what has expired never comes"
