from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.audit.copies import fingerprint

texts = st.one_of(st.none(), st.binary(max_size=4))
headers = st.lists(st.tuples(st.text(max_size=2), texts), max_size=3)
records = st.tuples(st.integers(-1, 3), texts, texts, headers)


def of(record: tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]) -> bytes:
    timestamp, key, value, names = record
    return fingerprint(timestamp_ms=timestamp, key=key, value=value, headers=names)


@given(records, records)
def test_two_records_are_alike_only_if_every_part_is(one, other) -> None:  # type: ignore[no-untyped-def]
    assert (of(one) == of(other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, None, b"v", []), (0, b"", b"v", [])),
        ((0, b"k", None, []), (0, b"k", b"", [])),
        ((0, b"ab", b"c", []), (0, b"a", b"bc", [])),
        ((0, b"k", b"v", [("a", None)]), (0, b"k", b"v", [("a", b"")])),
        ((0, b"k", b"v", [("a", b"1"), ("b", b"2")]), (0, b"k", b"v", [("b", b"2"), ("a", b"1")])),
        ((0, b"k", b"v", [("a", b"1")]), (0, b"k", b"v", [("a", b"1"), ("a", b"1")])),
        ((0, b"k", b"v", []), (1, b"k", b"v", [])),
    ],
)
def test_null_order_borders_and_time_count(one, other) -> None:  # type: ignore[no-untyped-def]
    assert of(one) != of(other)
