"""I3 over random logs whose truth the generator knows: whatever they hold, no group is placed past an unread record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit import Entry
from kafka_dr.offsets.translate import matching
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.by_content import finish
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import OffsetSearch, RangePair, consistent, nothing_expired_early
from kafka_dr.positions import OffsetRange, TopicPartition

PARTITION = TopicPartition("t", 0)


@dataclass(frozen=True)
class Logs:
    """Two logs. ``copies`` maps the offset of a source record to those of its copies on the target."""

    source: tuple[Entry, ...]
    target: tuple[Entry, ...]
    bounds: RangePair
    copies: Mapping[int, tuple[int, ...]]
    every_source: tuple[Entry, ...]

    def anchors(self) -> list[Anchor]:
        """Return all true pairs, also of records that have expired."""
        return [Anchor(source, found[0], "record") for source, found in self.copies.items() if found]

    def held(self, offset: int) -> list[int]:
        """Return the copies of a source record that the target still holds."""
        return [found for found in self.copies.get(offset, ()) if found >= self.bounds.target.start]

    def late(self, position: int, answer: int) -> list[int]:
        """Return the unread records whose every copy lies below the answer; those that expired there first, too."""
        held, gone = (
            [e.offset for e in entries if e.offset >= position] for entries in (self.source, self.every_source)
        )
        passed = [offset for offset in gone if self.held(offset) and max(self.held(offset)) < answer]
        return passed + [offset for offset in held if self.copies.get(offset) and not self.held(offset)]

    def unseen(self, position: int, answer: int, *, gone_too: bool) -> bool:
        """Return whether a group that goes on at the answer misses a record, if equal ones stand for each other.

        :param gone_too: whether it should see what the source holds and the target deleted
        """
        following = iter(entry.content for entry in self.target if entry.offset >= answer)
        unread = [entry for entry in self.every_source if entry.offset >= position]
        wanted = [entry for entry in unread if self.held(entry.offset) or (gone_too and entry in self.source)]
        return not all(entry.content in following for entry in wanted)

    def again(self, position: int, answer: int) -> list[int]:
        """Return the records below the position that would be delivered again."""
        read = (entry.offset for entry in self.every_source if entry.offset < position)
        return [offset for offset in read if any(found >= answer for found in self.held(offset))]


@st.composite
def logs(
    draw: st.DrawFn,
    *,
    unique: bool,
    foreign: bool = True,
    lossy: bool = False,
    doubled: bool = False,
    expiring: bool = True,
) -> Logs:
    source: list[Entry] = []
    target: list[Entry] = []
    copies: dict[int, tuple[int, ...]] = {}
    offset, target_offset = 0, 0
    for number in range(draw(st.integers(0, 25))):
        offset += draw(st.sampled_from([0, 0, 0, 1, 3]))
        content = f"{number}".encode() if unique else draw(st.sampled_from([b"a", b"b", b"c"]))
        source.append(Entry(offset, content))
        if foreign and draw(st.sampled_from([False] * 7 + [True])):
            alien = f"foreign {number}".encode() if unique else draw(st.sampled_from([b"a", b"b", b"x"]))
            target.append(Entry(target_offset, alien))
            target_offset += 1
        times = draw(st.sampled_from([1] * 6 + ([0] if lossy else []) + ([2] if doubled else [])))
        made = []
        for _ in range(times):
            target_offset += draw(st.sampled_from([0, 0, 1, 2]))
            target.append(Entry(target_offset, content))
            made.append(target_offset)
            target_offset += 1
        copies[offset] = tuple(made)
        offset += 1
    end, target_end = offset + draw(st.integers(0, 2)), target_offset + draw(st.integers(0, 2))
    start = draw(st.integers(0, end)) if expiring and draw(st.booleans()) else 0
    target_start = draw(st.integers(0, target_end)) if expiring and draw(st.booleans()) else 0
    return Logs(
        source=tuple(entry for entry in source if entry.offset >= start),
        target=tuple(entry for entry in target if entry.offset >= target_start),
        bounds=RangePair(OffsetRange(start, end), OffsetRange(target_start, target_end)),
        copies=copies,
        every_source=tuple(source),
    )


def translate(found: Logs, position: int, anchors: Collection[Anchor], *, stride: int = 5) -> Translation:
    """OffsetSearch as the offset map does, with reads that cut from the logs."""

    def cut(entries: Collection[Entry], ranges: Collection[OffsetRange]) -> list[Entry]:
        return [entry for r in ranges for entry in entries if r.start <= entry.offset < r.end]

    usable, whole = consistent(anchors, found.bounds), nothing_expired_early(anchors, found.bounds)
    search = OffsetSearch(position, held=found.bounds, anchors=usable, whole=whole, stride=stride)
    finish(
        {PARTITION: [search]},
        lambda source, target: (
            {p: cut(found.source, ranges) for p, ranges in source.items()},
            {p: cut(found.target, ranges) for p, ranges in target.items()},
        ),
    )
    assert search.result is not None
    return search.result


def compacted(found: Logs, data: st.DataObject) -> Logs:
    """Let both cleaners take away what they like of the records that newer ones supersede."""
    superseded = data.draw(st.sets(st.sampled_from(found.source[:-1]))) if len(found.source) > 1 else set()
    contents = {entry.content for entry in superseded}

    def cleaned(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(e for e in entries if e.content not in contents or data.draw(st.booleans()))

    return replace(found, source=cleaned(found.source), target=cleaned(found.target))


def some(data: st.DataObject, anchors: list[Anchor]) -> list[Anchor]:
    return data.draw(st.lists(st.sampled_from(anchors), unique=True)) if anchors else []


@given(st.booleans(), st.data())
@settings(max_examples=150, deadline=None)
def test_records_that_look_alike_never_make_a_group_late(foreign: bool, data: st.DataObject) -> None:
    found = data.draw(logs(unique=False, foreign=foreign))
    position = data.draw(st.integers(0, found.bounds.source.end))
    answer = translate(found, position, some(data, found.anchors()))
    # A foreign record that equals an expired one in every byte takes its place: nobody can tell them apart.
    assert answer.target_offset is None or not found.unseen(position, answer.target_offset, gone_too=not foreign)


@given(logs(unique=True, lossy=True, doubled=True), st.data())
@settings(max_examples=150, deadline=None)
def test_wrong_anchors_losses_and_doubled_records_never_make_a_group_late(found: Logs, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, found.bounds.source.end))
    # A pair is believed as it is only where its record expired on the source: what can be read is read.
    wrong = st.builds(
        Anchor,
        st.integers(found.bounds.source.start + 1, found.bounds.source.end + 3),
        st.integers(0, found.bounds.target.end + 3),
        st.sampled_from(["record", "position"]),
    )
    anchors = some(data, found.anchors()) + data.draw(st.lists(wrong, max_size=6))
    answer = translate(found, position, anchors)
    assert answer.target_offset is None or not found.late(position, answer.target_offset)


@given(logs(unique=True, lossy=True), st.data())
@settings(max_examples=100, deadline=None)
def test_an_exact_answer_delivers_nothing_again_and_a_bounded_one_no_more_than_it_says(
    found: Logs, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, found.bounds.source.end))
    answer = translate(found, position, some(data, found.anchors()))
    if answer.target_offset is None:
        assert (answer.kind, found.bounds.target.start > 0) == ("unknown", True)
        return
    assert answer.redelivered_at_most is not None
    assert len(found.again(position, answer.target_offset)) <= answer.redelivered_at_most
    assert answer.kind == "bounded" or answer.redelivered_at_most == 0


@given(st.one_of(logs(unique=True, lossy=True, doubled=True), logs(unique=False, lossy=True)), st.data())
@settings(max_examples=300, deadline=None)
def test_the_records_around_a_place_never_contradict_what_the_search_found(found: Logs, data: st.DataObject) -> None:
    """Else a switch would be stopped for nothing: a late place refuses it.

    Undecidable, and so refused, is an unread record that equals in every byte one on the target whose original the
    source does not hold, as it has expired or never was there: nobody can say whether that is its copy.
    """
    position = data.draw(st.integers(0, found.bounds.source.end))
    copied = {copy for entry in found.source for copy in found.copies[entry.offset]}
    strange = {entry.content for entry in found.target if entry.offset not in copied}
    if not strange & {entry.content for entry in found.source if entry.offset >= position}:
        assert translate(found, position, some(data, found.anchors())).proof != "late"


@given(logs(unique=True, foreign=False, expiring=False), st.data())
@settings(max_examples=80, deadline=None)
def test_a_faithful_copy_is_always_translated_exactly(found: Logs, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, found.bounds.source.end))
    stride = data.draw(st.integers(1, 30))
    answer = translate(found, position, some(data, found.anchors()), stride=stride)
    assert (answer.kind, answer.proof) == ("exact", "right"), answer


@given(logs(unique=True), st.data())
@settings(max_examples=80, deadline=None)
def test_the_nearest_anchor_makes_up_for_foreign_records_below_it(found: Logs, data: st.DataObject) -> None:
    held = [entry for entry in found.source if found.held(entry.offset)]
    if not held:
        return
    last = data.draw(st.sampled_from(held))
    answer = translate(found, last.offset + 1, found.anchors())
    assert answer.target_offset == found.held(last.offset)[0] + 1
    following = [e.content for e in found.target if e.offset >= answer.target_offset]
    foreign = next((n for n, content in enumerate(following) if b"foreign" not in content), len(following))
    assert (answer.kind == "exact") == (foreign == 0), answer


@given(logs(unique=True, foreign=False, expiring=False), st.data())
@settings(max_examples=300, deadline=None)
def test_compaction_on_either_side_never_makes_a_group_late(found: Logs, data: st.DataObject) -> None:
    """Each side's cleaner works by itself: of what is superseded it may hold any part; the newest of a key stays."""
    found = compacted(found, data)
    position = data.draw(st.integers(0, found.bounds.source.end))
    answer = translate(found, position, some(data, found.anchors()))
    assert answer.target_offset is not None, answer
    there = {entry.offset for entry in found.target}
    copies = {offset: copy[0] for offset, copy in found.copies.items() if copy[0] in there}
    unread = [copy for offset, copy in copies.items() if offset >= position]
    assert all(copy >= answer.target_offset for copy in unread)
    again = [copy for offset, copy in copies.items() if offset < position and copy >= answer.target_offset]
    assert answer.redelivered_at_most is not None
    assert len(again) <= answer.redelivered_at_most


@given(logs(unique=True), st.integers(1, 500))
def test_a_position_past_the_end_is_unknown(found: Logs, beyond: int) -> None:
    answer = translate(found, found.bounds.source.end + beyond, found.anchors())
    assert (answer.kind, answer.target_offset) == ("unknown", None)


def log_of(contents: str, *, start: int = 0) -> tuple[Entry, ...]:
    return tuple(Entry(start + at, content.encode()) for at, content in enumerate(contents))


def two_logs(source: str, target: str, *, source_start: int = 0, target_start: int = 0) -> Logs:
    here, there = log_of(source, start=source_start), log_of(target, start=target_start)
    bounds = RangePair(
        OffsetRange(source_start, source_start + len(source)), OffsetRange(target_start, target_start + len(target))
    )
    return Logs(here, there, bounds, {}, here)


def test_an_empty_partition_starts_at_the_targets_start() -> None:
    assert translate(two_logs("", ""), 0, ()).target_offset == 0
    assert translate(two_logs("", ""), 0, ()).kind == "exact"


def test_a_group_that_stopped_before_the_first_record_reads_all_of_the_target() -> None:
    answer = translate(two_logs("abc", "abc"), 0, ())
    assert (answer.kind, answer.target_offset) == ("exact", 0)


def test_records_that_expired_unread_send_the_group_to_the_targets_start() -> None:
    answer = translate(two_logs("def", "cdef", source_start=3, target_start=2), 1, [Anchor(2, 2, "record")])
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 2, 4)


def test_unread_records_that_expired_on_the_target_first_have_no_place() -> None:
    answer = translate(two_logs("abcd", "cd", target_start=2), 1, ())
    assert (answer.kind, answer.target_offset) == ("unknown", None)
    assert "may have expired there" in answer.reason


def test_a_group_that_read_all_goes_to_the_targets_start_although_records_expired_there() -> None:
    answer = translate(two_logs("abcd", "xx", target_start=2), 4, ())
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 2, 2)


def test_a_copy_of_what_expired_on_the_source_shows_that_the_target_still_holds_the_rest() -> None:
    found = two_logs("def", "xcdef", source_start=3, target_start=2)
    assert translate(found, 1, ()).kind == "unknown"
    answer = translate(found, 1, [Anchor(2, 3, "record")])
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 2, 5)


def test_leading_foreign_records_without_an_anchor_are_read_and_counted() -> None:
    answer = translate(two_logs("abc", "xyabc"), 2, ())
    assert (answer.kind, answer.target_offset, answer.redelivered_at_most) == ("bounded", 0, 4)


@pytest.mark.parametrize(("source_start", "target_start"), [(0, 50), (50, 0), (50, 20), (20, 50)])
@pytest.mark.parametrize("position", [50, 51, 70, 99, 100])
def test_heads_that_differ_do_not_matter_where_both_logs_hold_the_records_around_a_position(
    source_start: int, target_start: int, position: int
) -> None:
    found = numbered(100, source_start, target_start)
    answer = translate(found, position, (), stride=30)
    assert (answer.kind, answer.proof) == ("exact", "right"), answer
    following = [entry.offset for entry in found.target if entry.offset >= (answer.target_offset or 0)]
    assert following == [2 * offset for offset in range(position, 100)]


def test_what_the_target_deleted_unread_still_has_no_place() -> None:
    answer = translate(numbered(100, 0, 50), 30, (), stride=30)
    assert (answer.kind, answer.target_offset) == ("unknown", None)


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
    assert translate(numbered(100, 0, 50), 70, [Anchor(85, 170, "record")], stride=30).kind == "exact"
    # One that is wrong says nothing, however it came to be.
    assert translate(numbered(100, 0, 50), 70, [Anchor(85, 168, "record")], stride=30).kind == "unknown"


def test_records_near_each_other_that_contradict_the_order_say_nothing() -> None:
    # The end of an older stretch came once more: of what is unread only the first copy is there.
    found = two_logs("abcdef", "cdefab", target_start=2)
    answer = translate(found, 2, ())
    assert (answer.kind, answer.target_offset) == ("unknown", None)


def numbered(count: int, source_start: int, target_start: int) -> Logs:
    """Return a log of records that all differ and its copy with a marker behind each, without their beginnings.

    :param target_start: the first record that the target holds, by its offset on the source
    """
    every = tuple(Entry(at, b"%d" % at) for at in range(count))
    copies = tuple(Entry(2 * at, b"%d" % at) for at in range(target_start, count))
    bounds = RangePair(OffsetRange(source_start, count), OffsetRange(2 * target_start, 2 * count))
    return Logs(every[source_start:], copies, bounds, {at: (2 * at,) for at in range(count)}, every)


@given(logs(unique=True, foreign=False), st.data())
@settings(max_examples=200, deadline=None)
def test_where_both_logs_hold_the_last_record_read_its_place_needs_no_anchor(found: Logs, data: st.DataObject) -> None:
    held = [entry for entry in found.source if found.held(entry.offset)]
    if not held:
        return
    last = data.draw(st.sampled_from(held))
    above = [anchor for anchor in found.anchors() if anchor.source > last.offset]
    answer = translate(found, last.offset + 1, some(data, above), stride=data.draw(st.integers(1, 40)))
    assert (answer.kind, answer.proof) == ("exact", "right"), answer
    assert not found.late(last.offset + 1, answer.target_offset or 0)
    assert not found.again(last.offset + 1, answer.target_offset or 0)


def test_a_wrong_anchor_is_left_for_the_next_lower_one() -> None:
    answer = translate(two_logs("abcdef", "xabcdef"), 5, [Anchor(1, 2, "record"), Anchor(4, 6, "record")])
    assert (answer.kind, answer.target_offset) == ("exact", 6)


def test_of_two_copies_the_earlier_one_is_taken() -> None:
    twice = [Anchor(at, at, "record") for at in range(3)] + [Anchor(at, at + 3, "record") for at in range(3)]
    answer = translate(two_logs("abc", "abcabc"), 1, twice)
    assert answer.target_offset == 1


def test_a_journaled_seed_places_a_group_above_it() -> None:
    answer = translate(two_logs("abcd", "xxabcd"), 3, [Anchor(2, 4, "position")])
    assert (answer.kind, answer.target_offset) == ("exact", 5)


def test_a_target_without_the_last_records_read_delivers_none_of_them_again() -> None:
    answer = translate(two_logs("abcd", "abc"), 4, ())
    assert (answer.kind, answer.target_offset) == ("bounded", 3)


def test_markers_that_fill_the_first_look_at_the_target_do_not_hide_the_copy() -> None:
    bounds = RangePair(OffsetRange(0, 2), OffsetRange(0, 5000))
    found = Logs(log_of("ab"), (Entry(4000, b"a"), Entry(4999, b"b")), bounds, {}, log_of("ab"))
    answer = translate(found, 2, ())
    assert (answer.kind, answer.target_offset) == ("exact", 5000)


def copied_twice(count: int) -> Logs:
    contents = [f"{number}".encode() for number in range(count)]
    source = tuple(Entry(at, content) for at, content in enumerate(contents))
    target = tuple(Entry(at, content) for at, content in enumerate(contents + contents))
    return Logs(source, target, RangePair(OffsetRange(0, count), OffsetRange(0, 2 * count)), {}, source)


def test_of_two_anchors_at_one_record_the_earlier_copy_is_taken() -> None:
    twice = [Anchor(149, 449, "record"), Anchor(149, 149, "record"), Anchor(149, 449, "record")]
    assert translate(copied_twice(300), 150, twice, stride=1000).target_offset == 150


def test_an_anchor_that_others_overtake_is_not_used() -> None:
    crossing = [Anchor(100, 100, "record"), Anchor(149, 449, "record"), Anchor(160, 160, "record")]
    answer = translate(copied_twice(300), 150, crossing, stride=1000)
    assert (answer.kind, answer.target_offset) == ("exact", 150)


def test_a_long_log_without_anchors_is_matched_in_strides() -> None:
    contents = [f"{number}".encode() for number in range(500)]
    source = tuple(Entry(3 * at, content) for at, content in enumerate(contents))
    target = tuple(Entry(2 * at, content) for at, content in enumerate(contents))
    found = Logs(source, target, RangePair(OffsetRange(0, 1500), OffsetRange(0, 1000)), {}, source)
    answer = translate(found, 1200, (), stride=100)
    assert (answer.kind, answer.target_offset) == ("exact", 799)
