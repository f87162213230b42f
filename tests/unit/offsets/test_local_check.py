"""What the records around a at say about it, whoever found the at."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry
from kafka_dr.offsets.translate.local_check import LocalCheck, check_locally


def log_of(contents: str) -> list[Entry]:
    return [Entry(at, content.encode()) for at, content in enumerate(contents)]


def judged(source: str, position: int, target: str, at: int) -> LocalCheck:
    return check_locally(log_of(source), position, log_of(target), at)


@pytest.mark.parametrize(
    ("source", "position", "target", "at", "verdict", "records"),
    [
        ("abcdef", 3, "abcdef", 3, "right", 0),
        ("abcdef", 3, "xxabcdef", 5, "right", 0),
        ("abcdef", 3, "abcdef", 1, "early", 2),
        ("abcdef", 3, "abcdef", 5, "late", 2),
        ("abcdef", 6, "abcdef", 6, "right", 0),
        ("abcdef", 6, "abcdef", 4, "early", 2),
        ("abcdef", 3, "abc", 3, "right", 0),
        ("abcdef", 0, "abcdef", 0, "right", 0),
        ("abcdef", 0, "", 0, "right", 0),
        ("", 0, "", 0, "right", 0),
        ("abcdef", 3, "abxdef", 3, "unknown", 0),
        ("abcdef", 3, "uvwxyz", 3, "unknown", 0),
        ("abcdef", 6, "abcdefg", 6, "unknown", 0),
    ],
)
def test_an_offset_is_checked_by_the_records_around_it(
    source: str, position: int, target: str, at: int, verdict: str, records: int
) -> None:
    found = judged(source, position, target, at)
    assert (found.verdict, found.records) == (verdict, records)


def test_an_offset_after_a_lost_record_is_late_if_one_that_was_not_lost_is_before_it() -> None:
    assert judged("abcd", 2, "abd", 3).verdict == "late"


def test_a_record_that_was_read_and_is_written_again_makes_no_offset_late() -> None:
    assert judged("aba", 2, "ab", 2).verdict == "right"


def test_a_lost_record_that_another_one_looks_like_is_not_made_up_for() -> None:
    """The target may hold the first two and the last record of the source: then the at is late."""
    assert judged("abaaa", 3, "aba", 3).verdict == "unknown"


@pytest.mark.parametrize("at", range(5))
def test_identical_records_before_and_after_an_offset_prove_nothing(at: int) -> None:
    assert judged("aaaa", 2, "aaaa", at).verdict == "unknown"


@given(st.text("abcd", max_size=12), st.data())
@settings(max_examples=500, deadline=None)
def test_no_offset_past_an_unread_record_is_ever_called_right_or_early(source: str, data: st.DataObject) -> None:
    """Records that look alike, are lost, doubled or foreign; the generator knows whose copy each is."""
    position = data.draw(st.integers(0, len(source)))
    target: list[tuple[str, int | None]] = []
    for number, content in enumerate(source):
        foreign = data.draw(st.sampled_from(["", "", "", "a", "x"]))
        target += [(each, None) for each in foreign]
        target += [(content, number)] * data.draw(st.sampled_from([0, 1, 1, 1, 2]))
    # A foreign record that equals a lost one in every byte replaces it: the two cannot be distinguished.
    there = {number for _, number in target}
    lost = {content for number, content in enumerate(source) if number not in there}
    assume(lost.isdisjoint(content for content, number in target if number is None))
    at = data.draw(st.integers(0, len(target)))
    found = judged(source, position, "".join(content for content, _ in target), at)
    copied = {number for _, number in target if number is not None and number >= position}
    following = iter([content for content, _ in target[at:]])
    missed = not all(source[number] in following for number in sorted(copied))
    if missed:
        assert found.verdict in ("late", "unknown")
