"""A flow on another log of the same records begins at the first one that its target lacks, or nowhere.

The generator makes an original with aborted transactions (offsets without records), its copy on the cluster that the
group is moved to, and what both hold after the move. A standby holds the records of the original up to some offset.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.flow_start import end_in_longer_copy, starts_of_flow
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import OffsetPair, OffsetRange, SeedPoint, TopicPartition

P = TopicPartition("orders.payments", 0)


@dataclass(frozen=True)
class MovedLogs:
    """The log of the former active cluster, and that of the new one.

    :param first: each record with its offset on the former one
    :param second: the same on the new one
    :param turned: where both ended when the group was moved
    :param copied: how much of the second log the first one holds now: it is copied from there since the move
    :param expired: offsets below these are gone, on the first and on the second
    """

    first: tuple[Entry, ...]
    second: tuple[Entry, ...]
    turned: SeedPoint
    ends: SeedPoint
    expired: tuple[int, int] = (0, 0)

    def start(self, at: int, anchors: Sequence[Anchor] = (), *, turned: SeedPoint | None = None) -> Translation:
        """Return where a flow begins whose target holds what is below an offset of the first log."""
        here, there = (
            [e for e in log if e.offset >= gone]
            for log, gone in zip((self.first, self.second), self.expired, strict=True)
        )

        def cut(log: Collection[Entry], ranges: Collection[OffsetRange]) -> list[Entry]:
            return [entry for each in ranges for entry in log if entry.offset in each]

        held = RangePair(OffsetRange(self.expired[0], self.ends.source), OffsetRange(self.expired[1], self.ends.target))
        return starts_of_flow(
            {P: at},
            {P: turned or self.turned},
            {P: held},
            {P: list(anchors)},
            lambda source, target: (
                {p: cut(here, r) for p, r in source.items()},
                {p: cut(there, r) for p, r in target.items()},
            ),
        )[P]

    def pairs(self) -> list[OffsetPair]:
        offsets = {entry.content: entry.offset for entry in self.second}
        return [OffsetPair(entry.offset, offsets[entry.content]) for entry in self.first if entry.content in offsets]

    def missing_and_twice(self, at: int, start: int) -> tuple[set[bytes], set[bytes]]:
        """Return what a target that holds everything below ``at`` would never get, and what it would get twice."""
        holds = {entry.content for entry in self.first if entry.offset < at}
        gets = {entry.content for entry in self.second if entry.offset >= start}
        return {entry.content for entry in self.second} - holds - gets, holds & gets


def _log(draw: st.DrawFn, contents: Sequence[bytes], begin: int) -> tuple[list[Entry], int]:
    entries, offset = [], begin
    for content in contents:
        # Markers, and the records of transactions that were aborted.
        offset += draw(st.sampled_from([0, 0, 0, 1, 3]))
        entries.append(Entry(offset, content))
        offset += 1
    return entries, offset + draw(st.integers(0, 2))


@st.composite
def moved(draw: st.DrawFn, *, expiring: bool = False) -> MovedLogs:
    before = [b"%d" % n for n in range(draw(st.integers(0, 15)))]
    after = [b"new %d" % n for n in range(draw(st.integers(0, 8)))]
    first, first_end = _log(draw, before, 0)
    second, second_end = _log(draw, before, 0)
    more, ends = _log(draw, after, second_end)
    back, back_end = _log(draw, after[: draw(st.integers(0, len(after)))], first_end)
    expired = (0, 0)
    if expiring:
        expired = draw(st.integers(0, first_end)), draw(st.integers(0, second_end))
    return MovedLogs(
        (*first, *back), (*second, *more), SeedPoint(first_end, second_end), SeedPoint(back_end, ends), expired
    )


def some(data: st.DataObject, found: MovedLogs) -> list[Anchor]:
    pairs = found.pairs()
    return data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(moved(), st.data())
@settings(max_examples=300, deadline=None)
def test_a_standby_that_lagged_gets_each_record_once(found: MovedLogs, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, found.turned.source))
    answer = found.start(at, some(data, found))
    assert answer.kind == "exact", answer
    assert answer.target_offset is not None
    assert found.missing_and_twice(at, answer.target_offset) == (set(), set())


@given(moved(expiring=True), st.data())
@settings(max_examples=300, deadline=None)
def test_whatever_expired_an_exact_answer_leaves_out_nothing_and_copies_nothing_twice(
    found: MovedLogs, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, found.ends.source))
    answer = found.start(at, some(data, found))
    if answer.kind == "exact":
        assert answer.target_offset is not None
        missing, twice = found.missing_and_twice(at, answer.target_offset)
        there = {e.content for e in found.first if e.offset >= found.expired[0]}
        gone = {e.content for e in found.second if e.offset < found.expired[1]}
        assert (twice, missing - gone, missing & there) == (set(), set(), set())


@given(moved(), st.data())
@settings(max_examples=300, deadline=None)
def test_a_standby_that_has_copied_from_the_former_cluster_after_the_move_gets_each_record_once(
    found: MovedLogs, data: st.DataObject
) -> None:
    at = data.draw(st.integers(found.turned.source, found.ends.source))
    answer = found.start(at, some(data, found))
    if answer.kind == "exact":
        assert answer.target_offset is not None
        assert found.missing_and_twice(at, answer.target_offset) == (set(), set())


@given(moved(), st.data())
@settings(max_examples=200, deadline=None)
def test_wrong_anchors_never_lead_to_a_wrong_start(found: MovedLogs, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, found.turned.source))
    offsets = st.integers(0, found.ends.target + 3)
    wrong = data.draw(
        st.lists(st.one_of(st.builds(OffsetPair, offsets, offsets), st.builds(SeedPoint, offsets, offsets)), max_size=4)
    )
    answer = found.start(at, [*some(data, found), *wrong])
    if answer.kind == "exact":
        assert answer.target_offset is not None
        assert found.missing_and_twice(at, answer.target_offset) == (set(), set())


def test_without_a_point_where_both_logs_ended_there_is_no_start() -> None:
    held = {P: RangePair(OffsetRange(0, 3), OffsetRange(0, 3))}
    found = starts_of_flow({P: 2}, {}, held, {}, lambda *_: pytest.fail("nothing is to be read"))
    assert (found[P].kind, found[P].target_offset) == ("unknown", None)


@dataclass(frozen=True)
class TwoCopies:
    """Two copies of one log, at offsets of their own; on the longer one records follow that are no copies.

    :param until: where the longer one ended when it was a copy
    """

    here: tuple[Entry, ...]
    there: tuple[Entry, ...]
    here_held: OffsetRange
    there_held: OffsetRange
    until: int

    def end(self, anchors: Sequence[Anchor] = ()) -> Translation:
        def cut(log: Collection[Entry], held: OffsetRange, ranges: Collection[OffsetRange]) -> list[Entry]:
            return [entry for each in ranges for entry in log if entry.offset in each and entry.offset in held]

        return end_in_longer_copy(
            {P: RangePair(self.here_held, self.there_held)},
            {P: self.until},
            {P: list(anchors)} if anchors else {},
            lambda shorter, longer: (
                {p: cut(self.here, self.here_held, r) for p, r in shorter.items()},
                {p: cut(self.there, self.there_held, r) for p, r in longer.items()},
            ),
        )[P]


@st.composite
def copies(draw: st.DrawFn, *, expiring: bool = False) -> TwoCopies:
    # Equal contents next to each other: a heartbeat, say.
    original = [b"%d" % (n // draw(st.sampled_from([1, 1, 3]))) for n in range(draw(st.integers(0, 20)))]
    here, here_end = _log(draw, original[: draw(st.integers(0, len(original)))], 0)
    there, until = _log(draw, original[: draw(st.integers(0, len(original)))], 0)
    after, end = _log(draw, [b"new %d" % n for n in range(draw(st.integers(0, 5)))], until)
    gone = (draw(st.integers(0, here_end)), draw(st.integers(0, until))) if expiring else (0, 0)
    held = OffsetRange(gone[0], here_end), OffsetRange(gone[1], end)
    return TwoCopies(tuple(here), (*there, *after), *held, until)


@given(copies(), st.data())
@settings(max_examples=400, deadline=None)
def test_the_end_of_the_shorter_copy_is_found_and_that_of_a_longer_one_is_unknown(
    found: TwoCopies, data: st.DataObject
) -> None:
    copied = [entry for entry in found.there if entry.offset < found.until]
    offsets = st.integers(0, found.there_held.end + 3)
    wrong = data.draw(st.lists(st.builds(SeedPoint, offsets, offsets), max_size=3))
    answer = found.end(wrong)
    if len(found.here) > len(copied):
        assert answer.kind == "unknown", answer
        return
    if len({entry.content for entry in (*found.here, *copied)}) == len(copied):
        assert answer.kind == "exact", answer
    if answer.kind == "exact":
        assert answer.target_offset is not None
        assert sum(entry.offset < answer.target_offset for entry in found.there) == len(found.here)


@given(copies(expiring=True))
@settings(max_examples=300, deadline=None)
def test_whatever_expired_of_two_copies_an_exact_end_leaves_out_and_doubles_nothing(found: TwoCopies) -> None:
    answer = found.end()
    # Once its first copy has expired, nothing distinguishes a record that is there twice from it.
    distinct = all(len({entry.content for entry in log}) == len(log) for log in (found.here, found.there))
    if answer.kind == "exact" and distinct:
        assert answer.target_offset is not None
        holds = {entry.content for entry in found.here}
        gets = {entry.content for entry in found.there if entry.offset >= answer.target_offset}
        gone = {entry.content for entry in found.there if entry.offset not in found.there_held}
        assert not holds & gets
        assert {entry.content for entry in found.there} - holds - gets <= gone


def test_a_record_far_after_the_end_that_both_copies_share_is_found() -> None:
    """Many offsets before it hold no record: the search for the end alone does not see it."""
    first, far = Entry(0, b"0"), Entry(5_000, b"1")
    found = TwoCopies((first, far), (first,), OffsetRange(0, 5_001), OffsetRange(0, 1), 1)
    assert found.end().kind == "unknown"
    assert TwoCopies((first,), (first, far), OffsetRange(0, 5_001), OffsetRange(0, 5_001), 5_001).end().kind == "exact"
