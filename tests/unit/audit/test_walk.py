"""Random copies, with one thing wrong at most: the walk verifies up to the first difference and not one record on."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry
from kafka_dr.audit.finding import FindingKind, Verified
from kafka_dr.audit.kept_frontier import FrontierPoint
from kafka_dr.audit.walk import Walk
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

PARTITION = TopicPartition("t", 0)


def laid_out(draw: st.DrawFn, contents: Sequence[bytes]) -> tuple[list[Entry], int]:
    """Give records offsets with gaps, as control records leave them; return the end of the log, too."""
    entries, offset = [], 0
    for content in contents:
        offset += draw(st.sampled_from([0, 0, 0, 1, 4]))
        entries.append(Entry(offset, content))
        offset += 1
    return entries, offset + draw(st.integers(0, 3))


def walk_to_the_end(walk: Walk, source: Sequence[Entry], target: Sequence[Entry]) -> Verified:
    while not walk.done:
        here, there = walk.source_window(), walk.target_window()
        walk.look(
            [entry for entry in source if here.start <= entry.offset < here.end],
            [entry for entry in target if there.start <= entry.offset < there.end],
        )
    return walk.verified


def walk_over(
    source: Sequence[Entry],
    target: Sequence[Entry],
    *,
    end: int,
    target_end: int,
    until: int | None = None,
    point: FrontierPoint | None = None,
    start: SeedPoint | None = None,
    source_start: int = 0,
    target_start: int = 0,
    stride: int = 3,
) -> Verified:
    walk = Walk(
        PARTITION,
        until=end if until is None else until,
        point=point,
        start=start,
        source=OffsetRange(source_start, end),
        target=OffsetRange(target_start, target_end),
        stride=stride,
    )
    return walk_to_the_end(walk, source, target)


@given(st.data(), st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=30), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_a_faithful_copy_is_verified_to_the_end(data: st.DataObject, contents: list[bytes], stride: int) -> None:
    source, end = data.draw(st.composite(laid_out)(contents))
    target, target_end = data.draw(st.composite(laid_out)(contents))
    verified = walk_over(source, target, end=end, target_end=target_end, stride=stride)
    assert (verified.finding, verified.source_offset, verified.records) == (None, end, len(contents))
    assert verified.target_offset == target_end or end == 0


@given(
    st.data(), st.lists(st.sampled_from([b"a", b"b"]), min_size=1, max_size=20), st.integers(0, 3), st.integers(0, 3)
)
@settings(max_examples=150, deadline=None)
def test_a_walk_is_at_both_ends_only_if_neither_log_holds_another_record(
    data: st.DataObject, contents: list[bytes], unread: int, foreign: int
) -> None:
    source, end = data.draw(st.composite(laid_out)([*contents, *[b"a"] * unread]))
    target, target_end = data.draw(st.composite(laid_out)([*contents, *[b"x"] * foreign]))
    until = source[len(contents)].offset if unread else end
    source_held, target_held = OffsetRange(0, end), OffsetRange(0, target_end)
    walk = Walk(PARTITION, until=until, point=None, start=None, source=source_held, target=target_held, stride=4)
    walk_to_the_end(walk, source, target)
    assert walk.is_at_both_ends is (unread == 0 and foreign == 0)


@given(st.data(), st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_walk_in_two_parts_ends_where_one_does(data: st.DataObject, contents: list[bytes]) -> None:
    source, end = data.draw(st.composite(laid_out)(contents))
    target, target_end = data.draw(st.composite(laid_out)(contents))
    middle = data.draw(st.integers(0, end))
    first = walk_over(source, target, end=end, target_end=target_end, until=middle)
    point = FrontierPoint(first.source_offset, first.target_offset, first.records)
    second = walk_over(source, target, end=end, target_end=target_end, point=point)
    assert (first.finding, second.finding) == (None, None)
    assert second == walk_over(source, target, end=end, target_end=target_end)


@given(
    st.data(),
    st.integers(1, 25),
    st.sampled_from(["lost", "foreign", "different", "missing", "swapped"]),
    st.integers(1, 30),
)
@settings(max_examples=150, deadline=None)
def test_nothing_is_verified_from_the_first_difference_on(
    data: st.DataObject, count: int, kind: str, stride: int
) -> None:
    contents = [f"{number}".encode() for number in range(count)]
    at = data.draw(st.integers(0, count - 1))
    copy = {
        "lost": contents[:at] + contents[at + 1 :],
        "foreign": [*contents[:at], b"alien", *contents[at:]],
        "different": [*contents[:at], b"altered", *contents[at + 1 :]],
        "missing": contents[:at],
        "swapped": [*contents[:at], *reversed(contents[at : at + 2]), *contents[at + 2 :]],
    }[kind]
    if copy == contents:
        return
    source, end = data.draw(st.composite(laid_out)(contents))
    target, target_end = data.draw(st.composite(laid_out)(copy))
    verified = walk_over(source, target, end=end, target_end=target_end, stride=stride)
    assert verified.finding is not None
    assert (verified.records, verified.finding.source_offset) == (at, source[at].offset)
    assert verified.source_offset <= source[at].offset
    assert verified.target_offset <= (target[at].offset if at < len(target) else target_end)


def entries(contents: str, *, start: int = 0) -> list[Entry]:
    return [Entry(start + at, content.encode()) for at, content in enumerate(contents)]


def finding_of(source: str, target: str) -> tuple[FindingKind, int, int, int | None]:
    verified = walk_over(entries(source), entries(target), end=len(source), target_end=len(target), stride=100)
    found = verified.finding
    assert found is not None
    return found.kind, found.source_offset, found.target_offset, found.records


def test_what_is_wrong_is_named() -> None:
    assert finding_of("abcdef", "abef") == (FindingKind.LOST, 2, 2, 2)
    assert finding_of("abcd", "abxycd") == (FindingKind.FOREIGN, 2, 2, 2)
    assert finding_of("abcd", "abxd") == (FindingKind.DIFFERENT, 2, 2, None)
    assert finding_of("abcd", "abdc") == (FindingKind.DIFFERENT, 2, 2, None)
    assert finding_of("abcd", "ab") == (FindingKind.MISSING, 2, 2, None)
    assert finding_of("ab", "") == (FindingKind.MISSING, 0, 0, None)


def test_it_begins_where_the_direction_began() -> None:
    verified = walk_over(entries("xxabc"), entries("yabc"), end=5, target_end=4, start=SeedPoint(2, 1))
    assert (verified.finding, verified.records) == (None, 3)


def test_records_that_only_one_cluster_kept_at_the_very_beginning_are_left_out_and_counted() -> None:
    source_kept_less = walk_over(entries("cd", start=2), entries("abcd"), end=4, target_end=4, source_start=2)
    target_kept_less = walk_over(entries("abcd"), entries("cd", start=7), end=4, target_end=9, target_start=7)
    assert (source_kept_less.finding, source_kept_less.records, source_kept_less.skipped) == (None, 2, 2)
    assert (target_kept_less.finding, target_kept_less.records, target_kept_less.skipped) == (None, 2, 2)


def test_what_nothing_expired_for_is_never_left_out() -> None:
    assert finding_of("cd", "abcd")[0] is FindingKind.FOREIGN
    assert finding_of("abcd", "cd")[0] is FindingKind.LOST


def test_what_expired_before_it_was_compared_is_unverifiable_on_either_cluster() -> None:
    on_source = walk_over(
        entries("d", start=3), entries("abcd"), end=4, target_end=4, source_start=3, point=FrontierPoint(1, 1)
    )
    on_target = walk_over(
        entries("abcd"), entries("d", start=3), end=4, target_end=4, target_start=3, point=FrontierPoint(1, 1)
    )
    for verified in (on_source, on_target):
        assert verified.finding is not None
        assert (verified.finding.kind, verified.source_offset) == (FindingKind.UNVERIFIABLE, 1)


def test_a_frontier_at_the_end_does_not_suffer_from_expiry() -> None:
    verified = walk_over([], [], end=4, target_end=9, source_start=4, target_start=9, point=FrontierPoint(4, 7))
    assert (verified.finding, verified.source_offset) == (None, 4)


def test_a_topic_without_records_is_verified_as_it_is() -> None:
    verified = walk_over([], [], end=0, target_end=0)
    assert (verified.finding, verified.source_offset, verified.records) == (None, 0, 0)
