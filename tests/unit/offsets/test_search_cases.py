"""The search for one translated offset: each rule by itself, on two small logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.audit.copies import Entry
from kafka_dr.offsets.translate import matching
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import OffsetPair, OffsetRange, SeedPoint
from support.search_logs import (
    LogPair,
    copied_twice,
    log_of,
    numbered,
    translate,
    two_logs,
)


def test_an_empty_partition_starts_at_the_targets_start() -> None:
    assert translate(two_logs("", ""), 0, ()).target_offset == 0
    assert translate(two_logs("", ""), 0, ()).kind == "exact"


def test_a_group_that_stopped_before_the_first_record_reads_all_of_the_target() -> None:
    answer = translate(two_logs("abc", "abc"), 0, ())
    assert (answer.kind, answer.target_offset) == ("exact", 0)


def test_records_that_expired_unread_send_the_group_to_the_targets_start() -> None:
    answer = translate(two_logs("def", "cdef", source_start=3, target_start=2), 1, [OffsetPair(2, 2)])
    # It has read one record, so no more than that can come again.
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 2, 1)


def test_a_partition_that_expired_whole_makes_no_unread_record_one_that_comes_again() -> None:
    # 40 records and a marker on the source, 40 copies and a marker on the target.
    found = two_logs("", "a" * 40, source_start=41)
    bounds = RangePair(found.bounds.source, OffsetRange(0, 41))
    for position, again in ((0, 0), (1, 1), (40, 40)):
        answer = translate(replace(found, bounds=bounds), position, ())
        assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 0, again)


def test_unread_records_that_expired_on_the_target_first_have_no_translation() -> None:
    answer = translate(two_logs("abcd", "cd", target_start=2), 1, ())
    assert (answer.kind, answer.target_offset) == ("unknown", None)
    assert "may have expired there" in answer.reason


def test_a_group_that_read_all_goes_to_the_targets_start_although_records_expired_there() -> None:
    answer = translate(two_logs("abcd", "xx", target_start=2), 4, ())
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 2, 2)


def test_a_copy_of_what_expired_on_the_source_shows_that_the_target_still_holds_the_rest() -> None:
    found = two_logs("def", "xcdef", source_start=3, target_start=2)
    assert translate(found, 1, ()).kind == "unknown"
    answer = translate(found, 1, [OffsetPair(2, 3)])
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 2, 1)


def test_leading_foreign_records_without_an_anchor_are_read_and_counted() -> None:
    answer = translate(two_logs("abc", "xyabc"), 2, ())
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 0, 4)


@pytest.mark.parametrize(("source_start", "target_start"), [(0, 50), (50, 0), (50, 20), (20, 50)])
@pytest.mark.parametrize("position", [50, 51, 70, 99, 100])
def test_logs_that_begin_differently_do_not_matter_if_both_hold_the_records_around_an_offset(
    source_start: int, target_start: int, position: int
) -> None:
    found = numbered(100, source_start, target_start)
    answer = translate(found, position, (), stride=30)
    assert (answer.kind, answer.proof) == ("exact", "right"), answer
    following = [entry.offset for entry in found.target if entry.offset >= (answer.target_offset or 0)]
    assert following == [2 * offset for offset in range(position, 100)]


def test_what_the_target_deleted_unread_still_has_no_translation() -> None:
    answer = translate(numbered(100, 0, 50), 30, (), stride=30)
    assert (answer.kind, answer.target_offset) == ("unknown", None)


def test_a_foreign_record_taken_for_an_expired_copy_is_contradicted_by_the_unread_records_before_it() -> None:
    """The copy of the record that was read has expired; the target holds a record of others that equals it."""
    answer = translate(two_logs("abbc", "bbac", target_start=1), 1, ())
    assert answer.proof == "late", answer


@pytest.mark.parametrize("position", [1, 20])
def test_without_times_a_record_like_the_targets_first_one_is_no_reason_to_begin_there(position: int) -> None:
    """The target begins with the copy of the last "a"; that of the first one expired, with much that is unread."""
    between = "".join(chr(0x4E00 + n) for n in range(150))
    found = two_logs(f"a{between}axyz", "axyz", target_start=151)
    found = replace(
        found,
        source=tuple(entry._replace(timeless=entry.content, stamped=True) for entry in found.source),
        target=tuple(entry._replace(timeless=entry.content, stamped=True) for entry in found.target),
    )
    assert translate(found, position, []).target_offset is None


def test_a_log_that_is_too_long_is_not_read_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_READ", 90)
    assert translate(numbered(100, 0, 50), 70, (), stride=30).kind == "unknown"
    # Up to the next pair that is known it is short enough.
    assert translate(numbered(100, 0, 50), 70, [OffsetPair(85, 170)], stride=30).kind == "exact"
    # One that is wrong says nothing, however it came to be.
    assert translate(numbered(100, 0, 50), 70, [OffsetPair(85, 168)], stride=30).kind == "unknown"


def test_records_near_each_other_that_contradict_the_order_say_nothing() -> None:
    # The end of an older stretch came once more: of what is unread only the first copy is there.
    found = two_logs("abcdef", "cdefab", target_start=2)
    answer = translate(found, 2, ())
    assert (answer.kind, answer.target_offset) == ("unknown", None)


def test_a_wrong_anchor_is_left_for_the_next_lower_one() -> None:
    answer = translate(two_logs("abcdef", "xabcdef"), 5, [OffsetPair(1, 2), OffsetPair(4, 6)])
    assert (answer.kind, answer.target_offset) == ("exact", 6)


def test_of_two_copies_the_earlier_one_is_taken() -> None:
    twice = [OffsetPair(at, at) for at in range(3)] + [OffsetPair(at, at + 3) for at in range(3)]
    answer = translate(two_logs("abc", "abcabc"), 1, twice)
    assert answer.target_offset == 1


def test_a_journaled_seed_translates_an_offset_above_it() -> None:
    answer = translate(two_logs("abcd", "xxabcd"), 3, [SeedPoint(2, 4)])
    assert (answer.kind, answer.target_offset) == ("exact", 5)


def test_a_target_without_the_last_records_read_delivers_none_of_them_again() -> None:
    answer = translate(two_logs("abcd", "abc"), 4, ())
    assert (answer.kind, answer.target_offset) == ("bounded", 3)


def test_markers_that_fill_the_first_look_at_the_target_do_not_hide_the_copy() -> None:
    bounds = RangePair(OffsetRange(0, 2), OffsetRange(0, 5000))
    found = LogPair(log_of("ab"), (Entry(4000, b"a"), Entry(4999, b"b")), bounds, {}, log_of("ab"))
    answer = translate(found, 2, ())
    assert (answer.kind, answer.target_offset) == ("exact", 5000)


def test_of_two_anchors_at_one_record_the_earlier_copy_is_taken() -> None:
    twice = [OffsetPair(149, 449), OffsetPair(149, 149), OffsetPair(149, 449)]
    assert translate(copied_twice(300), 150, twice, stride=1000).target_offset == 150


def test_an_anchor_that_others_overtake_is_not_used() -> None:
    crossing = [OffsetPair(100, 100), OffsetPair(149, 449), OffsetPair(160, 160)]
    answer = translate(copied_twice(300), 150, crossing, stride=1000)
    assert (answer.kind, answer.target_offset) == ("exact", 150)


def test_a_long_log_without_anchors_is_matched_in_strides() -> None:
    contents = [f"{number}".encode() for number in range(500)]
    source = tuple(Entry(3 * at, content) for at, content in enumerate(contents))
    target = tuple(Entry(2 * at, content) for at, content in enumerate(contents))
    found = LogPair(source, target, RangePair(OffsetRange(0, 1500), OffsetRange(0, 1000)), {}, source)
    answer = translate(found, 1200, (), stride=100)
    assert (answer.kind, answer.target_offset) == ("exact", 799)
