"""A topic of which everything is unmatched: reported in runs, what is too much to be read paired by time, nothing
invented where it is cut.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copy_audit.classify import classify
from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.matching import AlignedPartition, compare, find_ancestors
from copy_audit.unmatched import paired
from kafka_dr.audit.circumstances import PartitionCircumstances
from kafka_dr.audit.corruption import Parts, Payload, PayloadOf, judge
from kafka_dr.audit.difference import Difference, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind

_MANY = 200_000


def log(hashes: Longs, timestamps: Longs | None = None) -> Fingerprints:
    numbers = np.arange(len(hashes), dtype=np.int64)
    return Fingerprints(numbers, numbers if timestamps is None else timestamps, hashes)


def told(
    source: Fingerprints, target: Fingerprints, *, most: int, position: int | None = None, young_from: int = 2**62
) -> list[Difference]:
    """Return what is said of one partition; payloads show that the headers were changed."""
    comparison: AlignedPartition = compare(0, source, target)
    facts = PartitionCircumstances(tail=comparison.tail, position=position, held_back=False, young_from=young_from)
    rules = {0: facts.rules}
    classified = classify(
        [comparison.unmatched_source()],
        [comparison.unmatched_target()],
        ancestors=lambda partitions, hashes: find_ancestors([comparison], partitions, hashes),
        rules=rules,
        most_suspects=most,
    )
    assert sum(len(each.source) for each in classified.suspects) <= most
    found = list(classified.differences)
    for suspects in classified.suspects:
        sides: list[PayloadOf] = [with_headers(b"1"), with_headers(b"2")]
        found += judge(suspects, source=sides[0], target=sides[1], rules=rules)
    return sorted(found, key=lambda each: (each.source_offset or 0, each.target_offset or 0))


def with_headers(header: bytes) -> PayloadOf:
    """Return payloads of which the time of the record says which one it is."""

    def look(record: UnmatchedRecord) -> Parts:
        return Parts.of(Payload(b"key", str(record.timestamp).encode(), (("h", header),), record.timestamp))

    return look


def short(found: Sequence[Difference]) -> list[tuple[FindingKind, int | None, int | None, int]]:
    return [(each.kind, each.source_offset, each.target_offset, each.count) for each in found]


def test_of_records_that_were_all_rewritten_the_first_are_read_and_the_others_paired_by_time() -> None:
    here, there = np.arange(1_000, dtype=np.int64), np.arange(5_000, 6_000, dtype=np.int64)
    assert short(told(log(here), log(there), most=300)) == [
        (FindingKind.CORRUPT_HEADER, 0, 0, 300),
        (FindingKind.CORRUPT_UNKNOWN, 300, 300, 700),
    ]


@pytest.mark.parametrize("gone", [50, 299, 300, 301, 900])
def test_a_loss_among_rewritten_records_is_that_one_loss_at_any_offset(gone: int) -> None:
    here, there = np.arange(1_000, dtype=np.int64), np.arange(5_000, 6_000, dtype=np.int64)
    kept = np.arange(1_000) != gone
    found = told(log(here), Fingerprints(np.arange(999), np.flatnonzero(kept), there[kept]), most=300)
    assert [
        each for each in short(found) if each[0] not in (FindingKind.CORRUPT_HEADER, FindingKind.CORRUPT_UNKNOWN)
    ] == [(FindingKind.LOST, gone, None, 1)]
    assert sum(each.count for each in found) == 1_000


def test_what_may_still_come_ends_at_the_flows_position_or_at_young_records() -> None:
    nothing = np.empty(0, np.int64)
    here = np.arange(100, dtype=np.int64)
    assert short(told(log(here), log(nothing), most=10, position=60)) == [
        (FindingKind.LOST, 0, None, 60),
        (FindingKind.IN_FLIGHT, 60, None, 40),
    ]
    shuffled = np.array([1, 9, 9, 1] * 25, np.int64)
    found = told(log(here, shuffled), log(nothing), most=10, young_from=5)
    assert [each.kind for each in found] == [FindingKind.LOST, FindingKind.IN_FLIGHT] * 25 + [FindingKind.LOST]


@pytest.mark.parametrize("case", ["lost", "foreign", "delivered again", "rewritten"])
def test_a_record_that_is_not_looked_at_is_no_object(case: str) -> None:
    numbers = np.arange(_MANY, dtype=np.int64)
    nothing = np.empty(0, np.int64)
    source, target = {
        "lost": (numbers, nothing),
        "foreign": (nothing, numbers),
        "delivered again": (numbers, np.concatenate((numbers, numbers))),
        "rewritten": (numbers, numbers + _MANY),
    }[case]
    sides = log(source), log(target)
    tracemalloc.start()
    try:
        found = told(*sides, most=100)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(each.count for each in found) == _MANY
    assert len(found) <= 2
    # A tuple of numbers would take more than 200.
    assert most / _MANY < 150


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=30), st.lists(st.integers(-3, 3), max_size=30))
def test_equal_numbers_are_paired_the_first_with_the_first(here: list[int], there: list[int]) -> None:
    waiting = {value: [n for n, each in enumerate(here) if each == value] for value in set(here)}
    expected = [(waiting[value].pop(0), n) for n, value in enumerate(there) if waiting.get(value)]
    rows, others = paired(np.array(here, np.int64), np.array(there, np.int64))
    assert list(zip(rows.tolist(), others.tolist(), strict=True)) == expected
