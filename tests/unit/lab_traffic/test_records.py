"""What is written into a record differs from every change of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.traffic.records import Identity, fingerprint, headers, identify, under_any_name

FIELD = st.none() | st.binary(max_size=6)


def test_a_record_can_be_identified_by_its_headers() -> None:
    made = headers("payments", 12, key=b"k", value=b"v", time_ms=99)
    assert identify(made) == Identity("payments", 12, fingerprint(b"k", b"v", 99))


def test_headers_added_on_the_way_do_not_matter() -> None:
    made = [*headers("payments", 12, key=b"k", value=b"v", time_ms=99), ("trace", None)]
    assert identify(made) is not None


def test_a_record_of_somebody_else_has_no_identity() -> None:
    assert identify(None) is None
    assert identify([("application", b"payments"), ("sequence", b"not a number"), ("fingerprint", b"")]) is None
    assert identify([("application", None), ("sequence", b"1"), ("fingerprint", b"")]) is None


@given(FIELD, FIELD, FIELD, FIELD)
def test_different_fields_have_different_fingerprints(
    key: bytes | None, value: bytes | None, other_key: bytes | None, other_value: bytes | None
) -> None:
    same = (key, value) == (other_key, other_value)
    assert (fingerprint(key, value, 1) == fingerprint(other_key, other_value, 1)) is same


def test_another_time_is_another_fingerprint() -> None:
    assert fingerprint(b"k", b"v", 1) != fingerprint(b"k", b"v", 2)


@pytest.mark.parametrize(
    ("topic", "taken"),
    [
        ("orders.payments", True),
        ("east.orders.payments", True),
        ("orders.payments2", False),
        ("orders-payments", False),
        ("eastorders.payments", False),
    ],
)
def test_one_pattern_takes_a_topic_and_its_copies(topic: str, taken: bool) -> None:
    assert bool(re.match(under_any_name("orders.payments"), topic)) is taken
