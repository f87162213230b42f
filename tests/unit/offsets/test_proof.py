"""What the records around a place say about it, whoever found the place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.audit import Entry
from kafka_dr.clusters.model import TopicPartition
from kafka_dr.offsets.proof import Claim, Proven, judge

PARTITION = TopicPartition("t", 0)


def log_of(contents: str) -> list[Entry]:
    return [Entry(at, content.encode()) for at, content in enumerate(contents)]


def judged(source: str, position: int, target: str, place: int) -> Proven:
    return judge(Claim(PARTITION, position, place), log_of(source), log_of(target))


@pytest.mark.parametrize(
    ("source", "position", "target", "place", "verdict", "records"),
    [
        ("abcdef", 3, "abcdef", 3, "right", 0),
        ("abcdef", 3, "xxabcdef", 5, "right", 0),
        ("abcdef", 3, "abcdef", 1, "early", 2),
        ("abcdef", 3, "abcdef", 5, "late", 2),
        ("abcdef", 6, "abcdef", 6, "right", 0),
        ("abcdef", 6, "abcdef", 4, "early", 2),
        ("abcdef", 3, "abc", 3, "right", 0),
        ("abcdef", 0, "abcdef", 0, "right", 0),
        ("", 0, "", 0, "right", 0),
        ("abcdef", 3, "abxdef", 3, "unknown", 0),
        ("abcdef", 3, "uvwxyz", 3, "unknown", 0),
        ("abcdef", 6, "abcdefg", 6, "unknown", 0),
    ],
)
def test_a_place_is_judged_by_its_neighbours(
    source: str, position: int, target: str, place: int, verdict: str, records: int
) -> None:
    found = judged(source, position, target, place)
    assert (found.verdict, found.records) == (verdict, records)


@given(st.integers(0, 20), st.integers(0, 25), st.integers(0, 5), st.integers(0, 20))
def test_no_place_past_an_unread_record_is_ever_called_right(
    position: int, place: int, foreign: int, count: int
) -> None:
    source = [Entry(at, b"%d" % at) for at in range(count)]
    target = [Entry(at, b"alien %d" % at) for at in range(foreign)]
    target += [Entry(foreign + at, b"%d" % at) for at in range(count)]
    position = min(position, count)
    found = judge(Claim(PARTITION, position, place), source, target)
    if position < count and place > foreign + position:
        assert found.verdict in ("late", "unknown")
    if found.verdict == "right" and position < count:
        assert place == foreign + position
