"""Two clusters whose cleaners work at different moments: what they removed is explained, and what was lost is found.

The model writes a log, copies it, and lets a cleaner work on either cluster: it removes what a newer record of the key
replaced, up to its point; deletions whose time is over; and nothing above. The truth is known record by record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit import compacted_walk
from kafka_dr.audit.compacted_walk import CompactedWalk, KeyedEntry
from kafka_dr.audit.copies import Entry
from kafka_dr.audit.finding import FindingKind, Verified
from kafka_dr.audit.kept_frontier import FrontierPoint
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

PARTITION = TopicPartition("state", 0)
#: A record: its key, and its content; no content deletes the key.
Short = tuple[str | None, int | None]


def record(offset: int, key: str | None, content: int | None, *, time: int = 0, stamped: bool = False) -> KeyedEntry:
    value = None if content is None else b"%d" % content
    raw = None if key is None else key.encode()
    return KeyedEntry(Entry.of(offset, timestamp_ms=time, stamped=stamped, key=raw, value=value), raw, content is None)


@dataclass(frozen=True)
class CleanedLog:
    """What a cluster holds: ``end`` is next to be written."""

    records: tuple[KeyedEntry, ...]
    end: int
    start: int = 0

    def cleaned(self, point: int, *, deletions_until: int = 0) -> CleanedLog:
        """Return the same after its cleaner: below the point the newest of each key is left.

        :param deletions_until: deletions below, which are the newest of their keys, are removed, too
        """
        newest = {each.key: each.entry.offset for each in self.records if each.entry.offset < point}

        def is_left(each: KeyedEntry) -> bool:
            at = each.entry.offset
            return at >= point or (newest[each.key] == at and not (each.deletes and at < deletions_until))

        return replace(self, records=tuple(filter(is_left, self.records)))

    def between(self, window: OffsetRange) -> list[KeyedEntry]:
        return [each for each in self.records if window.start <= each.entry.offset < window.end]

    def without(self, *offsets: int) -> CleanedLog:
        return replace(self, records=tuple(each for each in self.records if each.entry.offset not in offsets))

    def newest(self) -> dict[object, tuple[int, bool]]:
        return {each.key: (each.entry.offset, each.deletes) for each in self.records}


def log_of(records: Sequence[Short], markers: frozenset[int] = frozenset()) -> CleanedLog:
    """Give records their offsets; each has a time of its own, as records of one key mostly have.

    :param markers: numbers of records that a control record follows
    """
    found, offset = [], 0
    for number, (key, content) in enumerate(records):
        found.append(record(offset, key, content, time=number))
        offset += 1 + (number in markers)
    return CleanedLog(tuple(found), offset)


def walked(
    source: CleanedLog,
    target: CleanedLog,
    *,
    until: int | None = None,
    point: FrontierPoint | None = None,
    start: SeedPoint | None = None,
    stride: int = 3,
) -> Verified:
    walk = CompactedWalk(
        PARTITION,
        until=source.end if until is None else until,
        point=point,
        start=start,
        source=OffsetRange(source.start, source.end),
        target=OffsetRange(target.start, target.end),
        stride=stride,
    )
    for _ in range(1_000):
        if walk.done:
            return walk.verified
        walk.look(source.between(walk.source_window()), target.between(walk.target_window()))
    raise AssertionError("the walk does not end")


RECORDS = st.lists(st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), st.integers(0, 9))), min_size=1, max_size=40)
MARKERS = st.frozensets(st.integers(0, 39))
STRIDES = st.sampled_from([1, 3, 7, 100])


@st.composite
def cleaned_copies(draw: st.DrawFn) -> tuple[list[Short], CleanedLog, CleanedLog]:
    """Return what was written, and both clusters: each cleaned up to a point of its own, with a dirty head above."""
    written: list[Short] = list(draw(RECORDS))
    source, target = log_of(written, draw(MARKERS)), log_of(written, draw(MARKERS))
    if draw(st.booleans()):
        # What the source's cleaner removed before the flow read it never came.
        source = source.cleaned(draw(st.integers(0, source.end - 1)))
        number = {each.entry.content: n for n, each in enumerate(source.records)}
        copies = [each for each in target.records if each.entry.content in number]
        copies = [each._replace(entry=each.entry._replace(offset=n)) for n, each in enumerate(copies)]
        target = CleanedLog(tuple(copies), len(copies))
    logs = []
    for log in (source, target):
        # The last record is in the active segment, which no cleaner touches.
        point = draw(st.integers(0, max(each.entry.offset for each in log.records)))
        logs.append(log.cleaned(point, deletions_until=draw(st.integers(0, point))))
    return written, logs[0], logs[1]


@given(cleaned_copies(), STRIDES)
@settings(max_examples=600, deadline=None)
def test_a_faithful_copy_is_verified_whatever_the_cleaners_removed(
    logs: tuple[list[Short], CleanedLog, CleanedLog], stride: int
) -> None:
    _, source, target = logs
    verified = walked(source, target, stride=stride)
    both = {each.entry.content for each in source.records} & {each.entry.content for each in target.records}
    assert (verified.finding, verified.source_offset) == (None, source.end)
    assert verified.records == len(both)
    assert verified.records + verified.compacted == len(
        {each.entry.content for each in (*source.records, *target.records)}
    )


@given(cleaned_copies(), st.data(), STRIDES)
@settings(max_examples=600, deadline=None)
def test_the_newest_record_of_a_key_that_was_lost_is_found(
    logs: tuple[list[Short], CleanedLog, CleanedLog], data: st.DataObject, stride: int
) -> None:
    _, source, target = logs
    newest = source.newest()
    values = [each for each in source.records if newest[each.key] == (each.entry.offset, False)]
    if not values:
        return
    lost = data.draw(st.sampled_from(values))
    copies = [each.entry.offset for each in target.records if each.entry.content == lost.entry.content]
    verified = walked(source, target.without(*copies), stride=stride)
    assert verified.finding is not None
    assert verified.finding.source_offset <= lost.entry.offset
    assert verified.source_offset <= lost.entry.offset


@given(cleaned_copies(), st.data(), STRIDES)
@settings(max_examples=600, deadline=None)
def test_what_only_the_target_has_of_a_key_that_the_source_never_had_or_has_newer_is_found(
    logs: tuple[list[Short], CleanedLog, CleanedLog], data: st.DataObject, stride: int
) -> None:
    _, source, target = logs
    at = data.draw(st.integers(0, len(target.records) - 1))
    key = data.draw(st.sampled_from("abcdz"))
    alien = record(0, key, 77, time=1_000)
    # It takes an offset of its own, so all that follows has later ones.
    before, after = target.records[:at], target.records[at:]
    place = after[0].entry.offset
    moved = [each._replace(entry=each.entry._replace(offset=each.entry.offset + 1)) for each in after]
    put = alien._replace(entry=alien.entry._replace(offset=place))
    verified = walked(source, CleanedLog((*before, put, *moved), target.end + 1, target.start), stride=stride)
    last_of_key = target.newest().get(key.encode())
    if key == "z" or last_of_key is None or last_of_key[0] < place:
        # Nothing replaces it: a reader of the target would take it for the value of its key.
        assert verified.finding is not None


@given(cleaned_copies(), st.data(), STRIDES)
@settings(max_examples=600, deadline=None)
def test_a_walk_in_two_parts_with_cleaners_at_work_in_between_ends_where_one_does(
    logs: tuple[list[Short], CleanedLog, CleanedLog], data: st.DataObject, stride: int
) -> None:
    _, source, target = logs
    middle = data.draw(st.integers(0, source.end))
    first = walked(source, target, until=middle, stride=stride)
    if first.finding is not None:
        # What the source has up to there is the end of nothing: its copy may be hidden by what is not read yet.
        assert first.finding.kind is FindingKind.MISSING
    point = walk_point(source, target, middle, stride)
    ends = max(each.entry.offset for each in source.records), max(each.entry.offset for each in target.records)
    later = [
        log.cleaned(data.draw(st.integers(0, end)), deletions_until=0)
        for log, end in zip((source, target), ends, strict=True)
    ]
    second = walked(later[0], later[1], point=point, stride=stride)
    assert (second.finding, second.source_offset) == (None, source.end)


def walk_point(source: CleanedLog, target: CleanedLog, until: int, stride: int) -> FrontierPoint:
    walk = CompactedWalk(
        PARTITION,
        until=until,
        point=None,
        start=None,
        source=OffsetRange(source.start, source.end),
        target=OffsetRange(target.start, target.end),
        stride=stride,
    )
    while not walk.done:
        walk.look(source.between(walk.source_window()), target.between(walk.target_window()))
    return walk.point


@given(cleaned_copies(), st.data(), STRIDES)
@settings(max_examples=300, deadline=None)
def test_a_changed_copy_is_never_equal_and_never_explained(
    logs: tuple[list[Short], CleanedLog, CleanedLog], data: st.DataObject, stride: int
) -> None:
    _, source, target = logs
    contents = {each.entry.content for each in source.records}
    copies = [n for n, each in enumerate(target.records) if each.entry.content in contents]
    at = data.draw(st.sampled_from(copies))
    before = target.records[at]
    assert isinstance(before.key, bytes)
    changed = record(before.entry.offset, before.key.decode(), 99, time=2_000)
    verified = walked(
        source, replace(target, records=(*target.records[:at], changed, *target.records[at + 1 :])), stride=stride
    )
    assert verified.finding is not None
    assert verified.target_offset <= before.entry.offset


def holes(start: int, end: int) -> CleanedLog:
    return CleanedLog((), end, start)


def with_records(log: CleanedLog, *records: KeyedEntry) -> CleanedLog:
    return replace(log, records=(*log.records, *records))


def moved(each: KeyedEntry, offset: int) -> KeyedEntry:
    return each._replace(entry=each.entry._replace(offset=offset))


def test_a_deletion_that_is_gone_is_explained_only_if_the_other_cluster_holds_no_value_from_before() -> None:
    deletion, last = record(5, "a", None, time=5), record(6, "b", 6, time=6)
    after = FrontierPoint(5, 5, records=2)
    # The value is on the source, too: its cleaner comes later.
    source = with_records(holes(0, 7), record(1, "a", 1, time=1), deletion, last)
    for below, kind in (([], None), ([record(1, "a", 1, time=1)], FindingKind.LOST)):
        found = walked(source, with_records(holes(0, 7), *below, last), point=after)
        assert (found.finding.kind if found.finding else None) is kind
        other = walked(with_records(holes(0, 7), *below, last), source, point=after)
        assert (other.finding.kind if other.finding else None) is (kind and FindingKind.FOREIGN)


def test_what_replaced_a_record_is_looked_for_up_to_the_ends_of_the_logs() -> None:
    old, last = record(0, "a", 0, time=0), record(399, "a", 399, time=399)
    rest = [record(n, f"k{n}", n, time=n) for n in range(1, 399)]
    source = CleanedLog((old, *rest, last), 400)
    assert walked(source, CleanedLog((*rest, last), 400), stride=10).finding is None
    assert walked(CleanedLog((*rest, last), 400), source, stride=10).finding is None
    lost = walked(CleanedLog((old, *rest), 399), CleanedLog(tuple(rest), 399), stride=10).finding
    assert lost is not None
    assert (lost.kind, lost.source_offset, lost.records) == (FindingKind.LOST, 0, 1)


def test_a_record_whose_cluster_has_no_hole_for_it_was_never_there() -> None:
    source = log_of([("a", 0), ("b", 1), ("a", 2)])
    copies = [each._replace(entry=each.entry._replace(offset=n)) for n, each in enumerate(source.records[1:])]
    found = walked(source, CleanedLog(tuple(copies), 2)).finding
    assert found is not None
    assert (found.kind, found.source_offset) == (FindingKind.LOST, 0)


def test_holes_before_the_point_count_where_they_are_next_to_it() -> None:
    # The first walk ended on the source after what its cleaner had removed, and before the copies of that.
    point = FrontierPoint(3, 1, records=1, source_holes=2)
    target = log_of([("x", 0), ("a", 1), ("a", 2), ("a", 3)])
    source = target.without(1, 2)
    assert walked(source, target, point=point).finding is None
    unknown = walked(source, target, point=replace(point, source_holes=0)).finding
    assert unknown is not None
    assert unknown.kind is FindingKind.FOREIGN


def test_what_may_still_be_copied_is_missing_and_not_lost() -> None:
    source = log_of([("a", 0), ("b", 1), ("a", 2), ("c", 3)])
    found = walked(source, CleanedLog(source.records[1:2], 2))
    assert found.finding is not None
    assert (found.finding.kind, found.source_offset, found.compacted) == (FindingKind.MISSING, 2, 1)


def test_a_record_without_a_key_is_never_explained() -> None:
    source = log_of([(None, 0), ("a", 1)])
    found = walked(source, source.without(0)).finding
    assert found is not None
    assert found.kind is FindingKind.LOST


def test_copies_that_a_broker_stamped_are_compared_without_their_times_and_the_others_with_them() -> None:
    source = log_of([("a", 0), ("b", 1), ("a", 2), ("c", 3)])
    stamped = [record(n, key, n, time=500, stamped=True) for n, key in ((1, "b"), (2, "a"))]
    assert walked(source, CleanedLog((*stamped, source.records[3]), 4)).finding is None
    late = record(3, "c", 3, time=9)
    assert walked(source, CleanedLog((*stamped, late), 4)).finding is not None


def test_records_of_which_none_is_common_are_compared_up_to_a_limit_and_then_are_no_loss_and_not_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compacted_walk, "MOST_RECORDS", 50)
    source = log_of([("a", n) for n in range(400)])
    found = walked(source, source.without(*range(399)), stride=10)
    assert found.finding is not None
    assert (found.finding.kind, found.records) == (FindingKind.UNVERIFIABLE, 0)
    assert "run it for this flow" in found.finding.sentence


def test_a_record_without_a_timestamp_has_a_copy_with_the_time_of_the_copying_and_other_times_still_count() -> None:
    source = CleanedLog((record(0, "a", 0, time=5), record(1, "b", 1, time=-1), record(2, "c", 2, time=-5)), 3)
    copied = record(1, "b", 1, time=99)
    assert walked(source, CleanedLog((source.records[0], copied, source.records[2]), 3)).finding is None
    for changed in (record(0, "a", 0, time=6), record(2, "c", 2, time=6)):
        others = {each.entry.offset: each for each in (*source.records, copied, changed)}
        assert walked(source, CleanedLog(tuple(others.values()), 3)).finding is not None


def test_a_deletion_at_the_end_that_the_target_lacks_is_decided_by_the_next_record_as_the_sentence_says() -> None:
    source = log_of([("b", 0), ("a", 1), ("a", None)])
    # Its cleaner has removed both, or they were never copied and a transaction's markers are there.
    target = source.without(1, 2)
    found = walked(source, target).finding
    assert found is not None
    assert (found.kind, found.source_offset) == (FindingKind.MISSING, 1)
    assert "only deletes keys" in found.sentence
    assert "write one more record" in found.sentence
    more = record(3, "c", 3, time=3)
    longer = replace(with_records(source, more), end=4)
    assert walked(longer, replace(with_records(target, more), end=4)).finding is None
    never = walked(longer, with_records(CleanedLog(target.records, 2), moved(more, 1)))
    assert never.finding is not None
    assert never.finding.kind is FindingKind.LOST
    # A value is never the reason.
    value = walked(log_of([("b", 0), ("a", 1)]), log_of([("b", 0), ("a", 1)]).without(1)).finding
    assert value is not None
    assert "only deletes keys" not in value.sentence
