"""From which standby what is fetched, and from where on: by positions and content, and never by a guess."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.failover.unplanned import fetch_plan
from kafka_dr.failover.unplanned.donors import Donor, Donors
from kafka_dr.failover.unplanned.fetch import copied_by_survivors, sentences
from kafka_dr.failover.unplanned.fetch_plan import begun, by_content, with_most
from kafka_dr.replication.flow import Flow
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.rescue.fetch_ledger import FetchEntry
from support.memory_cluster import MemoryCluster

A, B, C = (TopicPartition("orders.payments", number) for number in range(3))
SILENT = TryAgain("south does not answer")
RUN: Any = SimpleNamespace(target="west", source="east", opens_copy=True)


def test_each_partition_is_fetched_from_the_standby_that_has_come_furthest_in_the_lost_log() -> None:
    reached = CopyReached({A: 7, B: 9})
    donors: Donors = {"north": Donor({A: 9, B: 9, C: 1}), "south": SILENT, "centre": Donor({A: 9, B: 12})}
    assert with_most(reached, donors) == {A: ("centre", 9), B: ("centre", 12), C: ("north", 1)}
    assert with_most(CopyReached({A: 9, B: 12, C: 1}), donors) == {}


def test_what_the_ledger_knows_is_continued_and_an_empty_partition_is_fetched_from_the_donors_start() -> None:
    ledger = {A: FetchEntry("north", 50, 7, 30, records=4), B: FetchEntry("south", 50, 7, 30)}
    logs = {A: OffsetRange(0, 90), B: OffsetRange(0, 91), C: OffsetRange(5, 92)}
    donors = {"north": Donor({A: 9, B: 9, C: 4}, logs)}
    best = {A: ("north", 9), B: ("north", 9), C: ("north", 4)}
    reached = CopyReached({A: 7, B: 7}, {A: 30, B: 30})
    found = begun(best, ledger, reached, donors, {A: OffsetRange(0, 40), B: OffsetRange(0, 40), C: OffsetRange(0, 0)})
    assert {p: (each.left, each.reached, each.entry.before) for p, each in found.items()} == {
        A: (OffsetRange(50, 90), 9, (7, 30)),
        C: (OffsetRange(5, 92), 4, (0, 0)),
    }
    # Nobody knows what a log holds whose flow has copied nothing, and a topic that only the donor has is not made.
    assert C not in begun(best, {}, reached, donors, {C: OffsetRange(0, 3)})
    assert begun(best, {}, reached, donors, {}) == {}


def a_log(name: str, values: Sequence[tuple[int, int]], end: int) -> MemoryCluster:
    """Return a cluster; the last offset is a record that no reader of committed records sees."""
    records = [Record(A.topic, 0, at, 1_000 + value, None, str(value).encode()) for at, value in values]
    records.append(Record(A.topic, 0, end - 1, 1, None, b"a marker"))
    return MemoryCluster(name, name, {A.topic: [records]}, aborted={A: [end - 1]})


@st.composite
def copies(draw: st.DrawFn) -> tuple[list[int], list[int], list[tuple[int, int]], list[tuple[int, int]]]:
    """Values of a lost log, how many of them each copy holds, and where."""
    values = draw(st.lists(st.integers(0, 3), min_size=1, max_size=12))
    further = draw(st.integers(1, len(values)))
    shorter = draw(st.integers(1, further))

    def spread(count: int) -> list[tuple[int, int]]:
        at, found = 0, []
        for value in values[:count]:
            at += draw(st.integers(0, 2))
            found.append((at, value))
            at += 1
        return found

    return values[:shorter], values[:further], spread(shorter), spread(further)


@given(copies())
@settings(max_examples=200, deadline=None)
def test_a_fetch_begins_with_the_first_record_that_the_target_lacks_or_not_at_all(
    found: tuple[list[int], list[int], list[tuple[int, int]], list[tuple[int, int]]],
) -> None:
    mine, all_of_them, here, there = found
    west, north = (a_log(name, log, log[-1][0] + 2) for name, log in (("west", here), ("north", there)))
    clusters = {"west": west, "north": north}
    donors = {"north": Donor({A: 9}, {A: OffsetRange(0, there[-1][0] + 2)})}
    flow = Flow("orders", "east", "west")
    run = cast("Any", SimpleNamespace(**vars(RUN), flow=flow, copies_by=lambda flow, _: clusters[flow.target]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fetch_plan, "matched_by_audits", lambda *_: {})
        planned = by_content(run, {A: ("north", 9)}, {}, CopyReached({A: 7}), donors)
    if A not in planned:
        # Records that are equal in every byte may leave open which of them a copy ends with.
        assert len(set(all_of_them)) < len(all_of_them)
        return
    fetched = [value for at, value in there if at in planned[A].left]
    assert mine + fetched == all_of_them
    assert planned[A].entry.before == (7, here[-1][0] + 2)
    assert planned[A].reached == 9


def test_what_stays_on_a_survivor_is_named_and_is_not_lost() -> None:
    fetched = {
        "records": 1200,
        "standbys": ["north"],
        "seconds": 12.0,
        "left": [
            {"standby": "north", "partition": "orders.payments-0", "why": "the time for it was over"},
            {"standby": "north", "partition": "orders.payments-1", "why": "west has no such partition"},
        ],
        "left_until": [["orders.payments", 0, 90]],
        "unknown": ["it is not known how much south holds: south does not answer"],
    }
    assert sentences(RUN, fetched) == [
        "1200 records were fetched from north in 12 s",
        "it is not known how much south holds: south does not answer",
        "north holds records of 2 partitions that west lacks, and keeps them (orders.payments-0: the time for it was "
        "over; orders.payments-1: west has no such partition). Nothing is copied to north",
    ]
    renamed: Any = SimpleNamespace(**{**vars(RUN), "opens_copy": False})
    assert sentences(renamed, fetched)[2].endswith("). They arrive late, once east is back")
    assert copied_by_survivors(fetched, {A: 70, B: 5}) == {A: 90, B: 5}
    assert sentences(RUN, {}) == []
    assert copied_by_survivors({}, {A: 70}) == {A: 70}
