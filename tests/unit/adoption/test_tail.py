"""The tail of a copy that is taken over: where this project's flow begins, and what refuses it."""

from __future__ import annotations

import pytest

from kafka_dr.adoption.take_over.tail import OtherRecords, PartitionTail, judged, strangers, unapproved, up_to_last_copy
from kafka_dr.positions import OffsetRange, SeedPoint
from support.seen_logs import PARTITION, log, numbered, seen

BEGIN = SeedPoint(10, 12)


def tail(
    source: list[int], target: list[int], *, before: tuple[int, ...] = (), aborted: tuple[int, ...] = ()
) -> PartitionTail:
    """Judge a tail that begins at BEGIN, as a take over compares it: nothing is young enough to be on its way."""
    on_target = log((seen(12 + n, content) for n, content in enumerate(target)), held_from=12, end=12)
    known, void = (frozenset(seen(0, content).parts for content in each) for each in (before, aborted))
    return judged(PARTITION, numbered(source, start=10), on_target, BEGIN, OtherRecords(known, void))


def kinds(found: PartitionTail) -> dict[str, int]:
    return {fault.kind: fault.count for fault in found.faults}


@pytest.mark.parametrize(
    ("copied", "begins"),
    [([], SeedPoint(10, 12)), ([0, 1], SeedPoint(12, 14)), ([0, 1, 2, 3], SeedPoint(14, 16))],
)
def test_the_flow_begins_after_the_last_record_that_has_a_copy(copied: list[int], begins: SeedPoint) -> None:
    found = tail([0, 1, 2, 3], copied)
    assert (found.point, found.records, found.faults) == (begins, len(copied), ())


@pytest.mark.parametrize(
    ("source", "target", "said", "begins"),
    [
        ([0, 1, 2, 3], [0, 2], {"lost": 1}, 13),
        ([0, 1, 2, 3], [0, 1, 0, 1], {"duplicated": 2}, 12),
        ([0, 1, 2, 3], [1, 0], {"reordered": 1}, 12),
        ([0, 1, 2, 3], [0, 77, 1], {"foreign": 1}, 12),
        ([0, 1, 2, 3], [0, 1, 77], {"foreign": 1}, 12),
    ],
)
def test_what_is_not_as_it_has_to_be_is_named(
    source: list[int], target: list[int], said: dict[str, int], begins: int
) -> None:
    found = tail(source, target)
    assert (kinds(found), found.point.source) == (said, begins)
    assert str(PARTITION) in str(found.faults[0])


def test_a_changed_copy_is_a_fault_and_the_flow_begins_after_it() -> None:
    source = log((seen(10 + n, n, key=f"k{n}") for n in range(3)), held_from=10)
    copy = log((seen(12 + n, "x" if n == 2 else n, key=f"k{n}", time=1_000 * n) for n in range(3)), held_from=12)
    found = judged(PARTITION, source, copy, BEGIN)
    assert (kinds(found), found.point) == ({"corrupted": 1}, SeedPoint(13, 15))


def test_a_second_copy_of_what_is_before_the_tail_is_a_duplicate_and_not_foreign() -> None:
    assert kinds(tail([0, 1], [8, 9, 0, 1], before=(8, 9))) == {"duplicated": 2}
    assert kinds(tail([0, 1], [8, 9, 0, 1], before=(9,))) == {"foreign": 2}
    assert [each.offset for each in strangers(numbered([0, 1], start=10), numbered([8, 0, 1, 9], start=12))] == [12, 15]


@pytest.mark.parametrize(("duplicates_pass", "left"), [(True, ["lost"]), (False, ["duplicated", "lost"])])
def test_only_duplicates_may_pass_and_only_if_the_topology_says_so(duplicates_pass: bool, left: list[str]) -> None:
    found = tail([0, 1, 2, 3], [0, 0, 2])
    assert sorted(kinds(found)) == ["duplicated", "lost"]
    refused = unapproved({PARTITION: found}, duplicates_pass=duplicates_pass, aborted_pass=False)
    assert sorted(each.kind for each in refused) == left


def test_what_follows_the_last_copy_is_not_judged_while_it_may_be_a_copy_of_an_open_transaction() -> None:
    """The source shows ten records, and five more are hidden: the old flow has copied all of them."""
    source, target = numbered(range(10)), numbered(range(15))
    originals, known = up_to_last_copy(source, target)
    assert (known.read, len(known.records)) == (OffsetRange(0, 10), 10)
    found = judged(PARTITION, originals, known, SeedPoint(0, 0))
    assert (found.point, found.records, found.faults) == (SeedPoint(10, 10), 10, ())
    # Without a copy there is nothing to go on; and offsets without a record need no judgement.
    assert [each.read for each in up_to_last_copy(numbered([]), target)] == [OffsetRange(0, 0)] * 2
    markers = log((seen(n, n) for n in range(3)), end=8)
    assert [each.read.end for each in up_to_last_copy(numbered(range(5)), markers)] == [3, 8]


def test_copies_of_aborted_records_are_named_and_the_flow_begins_after_the_last_committed_copy() -> None:
    found = tail([0, 1, 2], [0, 7, 8, 1, 9], aborted=(7, 8, 9))
    assert [(each.kind, each.target_offset, each.count) for each in found.faults] == [
        ("aborted", 13, 2),
        ("aborted", 16, 1),
    ]
    assert (found.point, found.records) == (SeedPoint(12, 17), 2)
    assert kinds(tail([0, 1], [0, 7, 1], aborted=(8,))) == {"foreign": 1}


def test_a_copy_of_an_aborted_record_is_not_taken_for_a_changed_copy_of_the_record_that_was_written_again() -> None:
    """After an abort a producer writes the same again: only the time differs, and it is not copied yet."""
    again = seen(16, "x", key="k", time=9_000)
    copied_before = seen(13, "x", key="k", time=5_000)
    source = log([seen(10, 0), again], held_from=10)
    target = log([seen(12, 0), copied_before], held_from=12)
    assert kinds(judged(PARTITION, source, target, BEGIN)) == {"corrupted": 1}
    found = judged(PARTITION, source, target, BEGIN, OtherRecords(aborted={copied_before.parts}))
    assert (kinds(found), found.point) == ({"aborted": 1}, SeedPoint(11, 14))


@pytest.mark.parametrize(("aborted_pass", "left"), [(True, []), (False, ["aborted"])])
def test_copies_of_aborted_records_pass_only_if_the_approver_has_seen_some(aborted_pass: bool, left: list[str]) -> None:
    found = tail([0, 1], [0, 7, 1], aborted=(7,))
    refused = unapproved({PARTITION: found}, duplicates_pass=False, aborted_pass=aborted_pass)
    assert [each.kind for each in refused] == left


def test_records_that_the_targets_broker_stamped_are_compared_without_their_time() -> None:
    source = log([seen(10, 0, time=1)], held_from=10)
    target = log((seen(12 + n, content, time=77, stamped=True) for n, content in enumerate([0, 8, 7])), held_from=12)
    others = OtherRecords({seen(0, 8, time=2).parts}, {seen(0, 7, time=3).parts})
    assert kinds(judged(PARTITION, source, target, BEGIN, others)) == {"duplicated": 1, "aborted": 1}
