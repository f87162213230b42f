"""The tail of a copy that is taken over: where this project's flow begins, and what refuses it."""

from __future__ import annotations

import pytest

from kafka_dr.adoption.take_over.tail import PartitionTail, judged, unapproved, unexplained
from kafka_dr.positions import SeedPoint
from support.seen_logs import LATE_BEFORE, PARTITION, compared, log, numbered, seen

BEGIN = SeedPoint(10, 12)


def tail(source: list[int], target: list[int], *, before: tuple[int, ...] = ()) -> PartitionTail:
    """Judge a tail that begins at BEGIN, as a take over compares it: nothing is young enough to be on its way."""
    on_target = log((seen(12 + n, content) for n, content in enumerate(target)), held_from=12, end=12)
    found = compared(numbered(source, start=10), on_target, late_before=0)
    known = frozenset(seen(0, content).parts for content in before)
    return judged(found, BEGIN, known)


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
    found = judged(compared(source, copy, late_before=0), BEGIN)
    assert (kinds(found), found.point) == ({"corrupted": 1}, SeedPoint(13, 15))


def test_a_second_copy_of_what_is_before_the_tail_is_a_duplicate_and_not_foreign() -> None:
    assert kinds(tail([0, 1], [8, 9, 0, 1], before=(8, 9))) == {"duplicated": 2}
    assert kinds(tail([0, 1], [8, 9, 0, 1], before=(9,))) == {"unexplained": 2}
    assert unexplained(compared(numbered([0, 1], start=10), numbered([8, 0, 1], start=12), late_before=LATE_BEFORE))


@pytest.mark.parametrize(("duplicates_pass", "left"), [(True, ["lost"]), (False, ["duplicated", "lost"])])
def test_only_duplicates_may_pass_and_only_if_the_topology_says_so(duplicates_pass: bool, left: list[str]) -> None:
    found = tail([0, 1, 2, 3], [0, 0, 2])
    assert sorted(kinds(found)) == ["duplicated", "lost"]
    assert sorted(each.kind for each in unapproved({PARTITION: found}, duplicates_pass=duplicates_pass)) == left
