from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_dr.canary.record import Canary, CanaryFlow, SentCanary, next_canary

#: A busy machine is no reason to fail.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

NOW = datetime(2026, 11, 20, 3, 0, 0, 123_456, tzinfo=UTC)
FLOW = CanaryFlow("orders", "east", "west", 7)


def test_a_canary_is_a_number_with_three_headers() -> None:
    canary = next_canary(FLOW, 0, on_source=(), now=NOW)

    assert canary.at == NOW.replace(microsecond=123_000)
    assert canary.value == b"1"
    assert canary.key == b"orders/east/7"
    assert canary.headers == [
        ("origin-dc", b"east"),
        ("origin-timestamp", b"1795143600123"),
        ("origin-producer", b"orders/east/7"),
    ]


@patient
@given(st.text(), st.integers(), st.text(), st.datetimes(timezones=st.just(UTC)))
def test_a_canary_is_read_back_as_it_was_sent(producer: str, number: int, origin: str, at: datetime) -> None:
    canary = Canary(producer, number, origin, at.replace(microsecond=at.microsecond // 1000 * 1000))

    assert Canary.parse(canary.value, canary.headers) == canary


GOOD = next_canary(FLOW, 0, on_source=(), now=NOW)


@pytest.mark.parametrize("missing", ["origin-dc", "origin-timestamp", "origin-producer"])
def test_a_record_without_one_of_the_headers_is_no_canary(missing: str) -> None:
    assert Canary.parse(GOOD.value, [header for header in GOOD.headers if header[0] != missing]) is None
    assert Canary.parse(GOOD.value, [(name, None if name == missing else raw) for name, raw in GOOD.headers]) is None


@pytest.mark.parametrize("value", [None, b"", b"one", b"\xff"])
def test_a_record_without_a_number_is_no_canary(value: bytes | None) -> None:
    assert Canary.parse(value, GOOD.headers) is None


@pytest.mark.parametrize("stamp", [b"soon", b"9" * 40])
def test_a_record_with_an_impossible_time_is_no_canary(stamp: bytes) -> None:
    headers = [(name, stamp if name == "origin-timestamp" else raw) for name, raw in GOOD.headers]

    assert Canary.parse(GOOD.value, headers) is None


def test_the_next_number_follows_the_last_one_on_the_source_in_each_partition() -> None:
    on_source = [
        SentCanary(0, 10, Canary(FLOW.producer, 41, "east", NOW - timedelta(minutes=1))),
        SentCanary(0, 9, Canary(FLOW.producer, 40, "east", NOW - timedelta(minutes=2))),
        SentCanary(0, 11, Canary("orders/west/6", 99, "west", NOW - timedelta(minutes=3))),
        SentCanary(1, 3, Canary(FLOW.producer, 50, "east", NOW - timedelta(minutes=1))),
    ]

    assert next_canary(FLOW, 0, on_source=on_source, now=NOW).number == 42
    assert next_canary(FLOW, 1, on_source=on_source, now=NOW).number == 51
    assert next_canary(FLOW, 2, on_source=on_source, now=NOW).number == 1


def test_another_epoch_is_another_producer() -> None:
    old = SentCanary(0, 0, Canary(FLOW.producer, 41, "east", NOW))
    flow = CanaryFlow("orders", "east", "west", 9)

    assert next_canary(flow, 0, on_source=[old], now=NOW) == Canary("orders/east/9", 1, "east", GOOD.at)


def test_a_clock_that_went_back_does_not_make_a_canary_older_than_the_last() -> None:
    last = Canary(FLOW.producer, 1, "east", GOOD.at + timedelta(hours=1))

    following = next_canary(FLOW, 0, on_source=[SentCanary(0, 0, last)], now=NOW)

    assert following.at == last.at + timedelta(milliseconds=1)
