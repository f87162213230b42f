"""A position is carried between an original and its copies, and between two copies: exactly, or never too far (I3).

The generator makes an original with aborted transactions and expired records, and two copies of it with markers of
their own. The second copy may lack the newest records, or have been made again from what the original still held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.offsets.maps import inverse, through
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import OffsetPair, OffsetRange
from support.search_logs import LogPair, translate


@dataclass(frozen=True)
class HeldLog:
    """One log: every record that it ever had, where it begins now, and where it ends."""

    every: tuple[Entry, ...]
    held: OffsetRange

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.every if entry.offset in self.held)

    def offsets(self) -> dict[bytes, int]:
        return {entry.content: entry.offset for entry in self.every}


def pair_of(source: HeldLog, target: HeldLog) -> LogPair:
    there = target.offsets()
    copies = {e.offset: (there[e.content],) if e.content in there else () for e in source.every}
    return LogPair(source.entries, target.entries, RangePair(source.held, target.held), copies, source.every)


def runs_of(source: HeldLog, target: HeldLog) -> list[OffsetRun]:
    """Return the map of two logs, a run for each record."""
    there = target.offsets()
    return [OffsetRun(e.offset, there[e.content], 1) for e in source.every if e.content in there]


def below(runs: Sequence[OffsetRun], position: int) -> list[Anchor]:
    found: list[Anchor] = [OffsetPair(run.source, run.target) for run in runs if run.source < position]
    return found[-1:]


@st.composite
def one_log(draw: st.DrawFn, contents: Sequence[bytes], *, expiring: bool) -> HeldLog:
    entries, offset = [], 0
    for content in contents:
        offset += draw(st.sampled_from([0, 0, 0, 1, 3]))
        entries.append(Entry(offset, content))
        offset += 1
    end = offset + draw(st.integers(0, 2))
    return HeldLog(tuple(entries), OffsetRange(draw(st.integers(0, end)) if expiring else 0, end))


@st.composite
def copies_of_one(draw: st.DrawFn, *, expiring: bool) -> tuple[HeldLog, HeldLog, HeldLog]:
    """Return an original and two copies of it."""
    contents = [b"%d" % n for n in range(draw(st.integers(0, 20)))]
    first_held = draw(st.integers(0, len(contents))) if expiring else 0
    lacking = draw(st.integers(first_held, len(contents)))
    return (
        draw(one_log(contents, expiring=expiring)),
        draw(one_log(contents, expiring=expiring)),
        # Made again: it begins with what the original still held then.
        draw(one_log(contents[first_held:lacking], expiring=expiring)),
    )


WAYS = pytest.mark.parametrize(
    ("here", "there"),
    [(0, 1), (1, 0), (1, 2), (2, 1)],
    ids=["to a copy", "to the original", "to a copy that lags", "from it"],
)


@WAYS
@given(logs=copies_of_one(expiring=True), data=st.data())
@settings(max_examples=150, deadline=None)
def test_no_position_is_carried_past_an_unread_record(
    here: int, there: int, logs: tuple[HeldLog, HeldLog, HeldLog], data: st.DataObject
) -> None:
    pair = pair_of(logs[here], logs[there])
    position = data.draw(st.integers(0, pair.bounds.source.end))
    joined = through(runs_of(logs[here], logs[0]), runs_of(logs[0], logs[there]))
    answer = translate(pair, position, below(joined, position) if data.draw(st.booleans()) else [])
    assert answer.target_offset is None or not pair.late(position, answer.target_offset)
    if answer.kind == "exact":
        assert answer.target_offset is not None
        assert not pair.again(position, answer.target_offset)


@WAYS
@given(logs=copies_of_one(expiring=False), data=st.data())
@settings(max_examples=150, deadline=None)
def test_where_nothing_expired_every_position_that_both_logs_reach_is_exact(
    here: int, there: int, logs: tuple[HeldLog, HeldLog, HeldLog], data: st.DataObject
) -> None:
    pair = pair_of(logs[here], logs[there])
    known = [entry.offset for entry in pair.source if pair.copies[entry.offset]]
    position = data.draw(st.integers(0, known[-1] + 1 if known else 0))
    joined = through(runs_of(logs[here], logs[0]), runs_of(logs[0], logs[there]))
    answer = translate(pair, position, below(joined, position))
    # What the source does not hold may be unread or not: nobody can say that from these two logs.
    ahead = {entry.content for entry in pair.target} - {entry.content for entry in pair.source}
    assert answer.kind == "exact" or ahead, answer
    assert answer.target_offset is not None
    assert not pair.late(position, answer.target_offset)
    assert not pair.again(position, answer.target_offset)


@st.composite
def maps(draw: st.DrawFn) -> list[OffsetRun]:
    runs, source, target = [], 0, 0
    for _ in range(draw(st.integers(0, 8))):
        source, target = source + draw(st.integers(0, 3)), target + draw(st.integers(0, 3))
        length = draw(st.integers(1, 5))
        runs.append(OffsetRun(source, target, length))
        source, target = source + length, target + length
    return runs


def points(runs: Sequence[OffsetRun]) -> dict[int, int]:
    return {run.source + n: run.target + n for run in runs for n in range(run.length)}


@given(maps(), maps())
@settings(max_examples=300, deadline=None)
def test_a_map_by_way_of_a_third_log_joins_each_record_with_its_copy(
    first: list[OffsetRun], second: list[OffsetRun]
) -> None:
    there = points(second)
    assert points(through(first, second)) == {s: there[t] for s, t in points(first).items() if t in there}
    assert points(through(inverse(first), first)) == {t: t for t in points(first).values()}
