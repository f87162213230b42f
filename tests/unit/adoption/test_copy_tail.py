"""Comparing the tail of a copy part by part, on two clusters in memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from kafka_dr.adoption.take_over import copy_tail, tail_parts
from kafka_dr.adoption.take_over.copy_tail import CopyTail
from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.positions import SeedPoint
from support.memory_cluster import MemoryCluster

P = TopicPartition("orders", 0)
NOTHING = SeedPoint(0, 0)


def records(contents: Iterable[int], *, start: int = 0, partition: int = 0, keys: int = 10**9) -> list[Record]:
    return [
        Record("orders", partition, start + n, 1_000 + content, b"k%d" % (content % keys), b"v%d" % content)
        for n, content in enumerate(contents)
    ]


class Copy:
    """One partition on two clusters: what was written, and what somebody copied of it, also before it was committed."""

    def __init__(self, written: int) -> None:
        self.source = MemoryCluster("east", "E", {"orders": [records(range(written))]})
        self.target = MemoryCluster("west", "W", {"orders": [[]]})

    def copy(self, *contents: int) -> None:
        held = self.target.topics_held["orders"][0]
        held += records(contents, start=len(held))

    def tail(self, begin: SeedPoint = NOTHING) -> CopyTail:
        return CopyTail(self.source.as_kafka, self.target.as_kafka, {P: begin})


def to_the_end(tail: CopyTail, partitions: Iterable[TopicPartition] = (P,), looks: int = 200) -> int:
    """Look until nothing is left, and return how often."""
    for number in range(looks):
        tail.advance(list(partitions))
        if not tail.left:
            return number + 1
    pytest.fail(f"{tail.left} is left after {looks} looks")


def found_in(tail: CopyTail) -> tuple[SeedPoint, int, dict[str, int]]:
    each, counts = tail.tails[P], Counter[str]()
    for fault in each.faults:
        counts[fault.kind] += fault.count
    return each.point, each.records, dict(counts)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 40 offsets be read at once, 4 of them of the target at first."""
    for name, value in {"MOST_OFFSETS": 40, "_OFFSETS": 4, "_MORE_ON_SOURCE": 2}.items():
        monkeypatch.setattr(tail_parts, name, value)
    monkeypatch.setattr(copy_tail, "_LOOK_BACK", (10, 40))


@pytest.mark.usefixtures("small_parts")
def test_a_tail_of_any_length_is_compared_to_its_end_part_by_part() -> None:
    """What is too much to be read at once is no reason to refuse."""
    copy = Copy(500)
    copy.copy(*range(480))
    tail = copy.tail(SeedPoint(20, 20))
    assert to_the_end(tail) > 10
    assert found_in(tail) == (SeedPoint(480, 480), 460, {})
    copy.copy(*range(480, 500))
    to_the_end(tail)
    assert found_in(tail) == (SeedPoint(500, 500), 480, {})


@pytest.mark.usefixtures("small_parts")
def test_a_part_without_any_copy_grows() -> None:
    copy = Copy(60)
    copy.copy(*range(30), *range(12, 30), *range(30, 60))
    tail = copy.tail()
    to_the_end(tail)
    assert found_in(tail) == (SeedPoint(60, 78), 60, {"duplicated": 18})


@pytest.mark.usefixtures("small_parts")
def test_more_that_corresponds_to_nothing_than_can_be_read_at_once_is_a_fault_and_not_passed_over() -> None:
    copy = Copy(200)
    copy.copy(*range(10), *range(1_000, 1_100), *range(10, 20))
    tail = copy.tail()
    to_the_end(tail)
    point, equal, faults = found_in(tail)
    assert (point, equal, faults.keys() <= {"foreign", "unexplained"}) == (SeedPoint(20, 120), 20, True)
    assert sum(faults.values()) == 100
    copy = Copy(200)
    copy.copy(*range(10), *range(150, 200))
    to_the_end(tail := copy.tail())
    assert found_in(tail)[2] != {}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("number", range(20))
def test_parts_find_what_one_look_at_everything_finds(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow copies at least once; every second one also passes over records."""
    chance, loses = random.Random(number), number % 2  # noqa: S311
    copy, position = Copy(150), 0
    while position < 140:
        until = min(140, position + chance.randint(1, 30))
        copy.copy(*range(position, until))
        position = max(0, until + chance.choice([0, 0, 0, -3, -8, 2 if loses else 0]))
    to_the_end(tail := copy.tail())
    monkeypatch.undo()
    to_the_end(everything := copy.tail())
    parts, whole = found_in(tail), found_in(everything)
    assert parts[0] == whole[0]
    if loses:
        # What was passed over and came with a repetition is lost to a part that ends in between: never less is found.
        assert parts[2].keys() - {"duplicated"} or not whole[2].keys() - {"duplicated"}
    else:
        assert parts == whole
        assert whole[2].keys() <= {"duplicated"}


@pytest.mark.usefixtures("small_parts")
def test_a_flow_that_is_far_behind_is_compared_without_reading_what_it_has_not_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = Copy(10_000)
    copy.copy(*range(50))
    asked: list[OffsetRange] = []
    read = MemoryCluster.read

    def counted(self: MemoryCluster, ranges: Mapping[TopicPartition, OffsetRange], **more: object) -> object:
        asked.extend(ranges.values() if self.name == "east" else ())
        return read(self, ranges, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryCluster, "read", counted)
    to_the_end(tail := copy.tail())
    assert found_in(tail) == (SeedPoint(50, 50), 50, {})
    assert max(each.end for each in asked) < 100


def test_copies_of_an_open_transaction_are_not_judged_before_it_ends_and_its_commit_makes_them_copies() -> None:
    copy = Copy(15)
    copy.copy(*range(15))
    copy.source = replace(copy.source, open_from={P: 10})
    tail = copy.tail()
    tail.advance([P])
    assert (found_in(tail), tail.left, tail.held_back) == ((SeedPoint(10, 10), 10, {}), {P: 5}, {P: 10})
    tail.advance([P])
    assert (found_in(tail)[0], tail.held_back) == (SeedPoint(10, 10), {P: 10})
    tail._source = replace(copy.source, open_from={}).as_kafka
    to_the_end(tail)
    assert (found_in(tail), tail.held_back) == ((SeedPoint(15, 15), 15, {}), {})


def test_copies_of_a_transaction_that_aborts_are_named_and_the_flow_begins_before_them() -> None:
    copy = Copy(18)
    copy.copy(*range(15))
    copy.source = replace(copy.source, open_from={P: 10})
    tail = copy.tail()
    tail.advance([P])
    tail._source = replace(copy.source, open_from={}, aborted={P: range(10, 15)}).as_kafka
    to_the_end(tail)
    # The flow begins at the first record that is committed and has no copy, or before it: it reads committed records.
    assert found_in(tail) == (SeedPoint(10, 15), 10, {"aborted": 5})


def test_a_second_copy_of_what_was_aborted_before_the_tail_is_one_of_an_aborted_record() -> None:
    copy = Copy(20)
    copy.source = replace(copy.source, aborted={P: range(5, 8)})
    copy.copy(*range(12), *range(4, 20))
    to_the_end(tail := copy.tail(SeedPoint(12, 12)))
    assert found_in(tail) == (SeedPoint(20, 28), 8, {"aborted": 3, "duplicated": 5})


def test_a_copy_that_grows_no_more_waits_only_for_the_transactions_that_were_open_then() -> None:
    """Where applications write in transactions all the time, one is open at every moment."""
    copy = Copy(15)
    copy.copy(*range(15))
    copy.source = replace(copy.source, open_from={P: 10})
    tail = copy.tail()
    tail.advance([P])
    later = records(range(30))
    tail._source = replace(
        copy.source, topics_held={"orders": [later]}, open_from={P: 20}, aborted={P: range(10, 15)}
    ).as_kafka
    to_the_end(tail)
    assert (found_in(tail), tail.held_back) == ((SeedPoint(10, 15), 10, {"aborted": 5}), {})
    # One that is open since does not decide about a copy that has grown.
    copy.target.topics_held["orders"][0].extend(records(range(15, 25), start=15))
    for _ in range(3):
        tail.advance([P])
    assert (found_in(tail)[0], tail.left, tail.held_back) == (SeedPoint(20, 20), {P: 5}, {})


def test_what_the_target_has_not_compacted_yet_waits_for_the_record_that_replaced_it(small_parts: None) -> None:
    """In a compacted topic a record without a copy may have been replaced by a later one, which another part holds."""
    written = records(range(60), keys=50)
    copy = Copy(0)
    copy.source = MemoryCluster("east", "E", {"orders": [written]}, configuration={"cleanup.policy": "compact"})
    held = [r for r in written if r.offset != 5]
    copy.target = MemoryCluster("west", "W", {"orders": [held]})
    with pytest.MonkeyPatch.context() as larger:
        larger.setattr(tail_parts, "MOST_OFFSETS", 400)
        to_the_end(tail := copy.tail())
    assert found_in(tail) == (SeedPoint(60, 60), 59, {})


def test_a_record_that_left_no_hole_on_the_target_was_never_copied_although_a_later_one_replaced_it() -> None:
    written = records(range(60), keys=50)
    copy = Copy(0)
    copy.source = MemoryCluster("east", "E", {"orders": [written]}, configuration={"cleanup.policy": "compact"})
    held = [r for r in written if r.offset != 5]
    copy.target = MemoryCluster("west", "W", {"orders": [[replace(r, offset=n) for n, r in enumerate(held)]]})
    to_the_end(tail := copy.tail())
    assert found_in(tail) == (SeedPoint(60, 59), 59, {"lost": 1})


@pytest.mark.parametrize(("value_below", "said"), [(False, {}), (True, {"lost": 1})])
def test_a_deletion_that_is_gone_is_harmless_only_if_the_target_has_no_value_from_before_the_tail(
    value_below: bool, said: dict[str, int]
) -> None:
    written = records(range(20))
    written[15] = replace(written[15], key=b"k3", value=None)
    copy = Copy(0)
    copy.source = MemoryCluster("east", "E", {"orders": [written]}, configuration={"cleanup.policy": "compact"})
    held = [r for r in written if r.offset != 15 and (r.offset != 3 or value_below)]
    copy.target = MemoryCluster("west", "W", {"orders": [held]})
    to_the_end(tail := copy.tail(SeedPoint(10, 10)))
    assert found_in(tail)[2] == said


def test_what_the_source_has_deleted_before_it_was_compared_is_a_fault() -> None:
    copy = Copy(20)
    copy.copy(*range(20))
    del copy.source.topics_held["orders"][0][:8]
    tail = copy.tail(SeedPoint(5, 20))
    tail.advance([P])
    tail.advance([P])
    assert found_in(tail) == (SeedPoint(8, 20), 0, {"deleted": 3})


def test_of_many_partitions_those_are_read_first_of_which_most_is_left() -> None:
    part = tail_parts.part_from(
        NOTHING, tail_parts.HeldTail(OffsetRange(0, 10**9), OffsetRange(0, 10**9), 10**9), decided=True, size=1
    )
    parts = {TopicPartition("t", n): part for n in range(40)}
    batch = tail_parts.batch_of(parts, {p: p.partition for p in parts})
    assert [p.partition for p in batch] == list(range(39, 39 - len(batch), -1))
    assert tail_parts.MOST_OFFSETS - part.offsets < len(batch) * part.offsets <= tail_parts.MOST_OFFSETS


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("time", "faults"), [(-1, {}), (-5_000, {"corrupted": 1})])
def test_the_copy_of_a_record_without_a_timestamp_is_no_fault_of_a_tail(time: int, faults: dict[str, int]) -> None:
    copy = Copy(60)
    copy.copy(*range(60))
    held = copy.source.topics_held["orders"][0]
    held[30] = replace(held[30], timestamp_ms=time)
    tail = copy.tail()
    to_the_end(tail)
    assert found_in(tail) == (SeedPoint(60, 60), 60 - len(faults), faults)
