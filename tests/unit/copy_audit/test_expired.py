"""Retention that moves on while a log is read: what was read in time counts, what was not is no fault by itself."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import Unseen
from kafka_dr.audit.finding import FindingKind

END = 40
#: Offsets that transaction markers take on the source.
MARKERS = frozenset(range(3, END, 4))
RECORDS = [offset for offset in range(END) if offset not in MARKERS]


def source_log(offsets: Collection[int]) -> Fingerprints:
    return log_of(sorted(offsets), sorted(offsets))


def log_of(offsets: Collection[int], contents: Collection[int]) -> Fingerprints:
    return Fingerprints(*(np.array(list(values), np.int64) for values in (offsets, [0] * len(offsets), contents)))


def audited(
    read: Collection[int],
    copied: Collection[int] = RECORDS,
    *,
    vanished: tuple[int, int],
    start: int = 0,
    first: bool = True,
    position: int | None = END,
    aside: tuple[tuple[int, int], ...] = (),
) -> PartitionOutcome:
    target = log_of(range(len(copied)), sorted(copied))
    logs = PartitionLogs(
        0,
        source_log(read).without(aside),
        target,
        ComparedRange(start, END, vanished=vanished),
        ComparedRange(0, len(copied)),
        first=first,
        position=position,
        quarantined=aside,
    )
    outside = AuditLookups(lambda _suspects: (lambda _record: Unseen.GONE,) * 2, nowhere)
    (outcome,) = audit_topic([logs], compacted=False, young_from=2**62, lookups=outside)
    coverage = outcome.settled_coverage + outcome.waiting_coverage
    assert (coverage.adds_up, coverage.produced) == (True, END - start)
    return outcome


def found(outcome: PartitionOutcome) -> list[tuple[FindingKind, int | None, int | None, int]]:
    return [(d.kind, d.source_offset, d.target_offset, d.count) for d in (*outcome.settled, *outcome.waiting)]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("position", [END, None])
def test_records_that_were_read_in_time_are_verified_although_they_are_gone(first: bool, position: int | None) -> None:
    outcome = audited(RECORDS, vanished=(0, 30), first=first, position=position)
    assert found(outcome) == []
    assert outcome.settled_coverage.verified == len(RECORDS)
    assert (outcome.settled_coverage.expired, outcome.settled_coverage.control) == (7, 3)


def test_what_a_first_audit_came_too_late_for_is_expired_as_what_was_gone_before_it_is() -> None:
    outcome = audited([n for n in RECORDS if n >= 20], vanished=(0, 20))
    assert found(outcome) == []
    assert (outcome.settled_coverage.verified, outcome.settled_coverage.expired) == (15, 20)


def test_a_later_audit_says_that_copies_of_what_it_came_too_late_for_cannot_be_verified() -> None:
    outcome = audited([n for n in RECORDS if not 10 <= n < 20], vanished=(0, 20), first=False)
    assert {kind for kind, *_ in found(outcome)} == {FindingKind.UNVERIFIABLE}
    assert sum(count for *_, count in found(outcome)) == 7
    assert outcome.settled_coverage.expired == 12


def test_what_went_before_the_flow_was_known_to_have_read_it_is_not_held_against_it_as_lost() -> None:
    read = [n for n in RECORDS if not 10 <= n < 20]
    outcome = audited(read, [n for n in RECORDS if n < 8], vanished=(0, 20), first=False, position=8)
    assert [each for each in found(outcome) if each[0] is not FindingKind.IN_FLIGHT] == [
        (FindingKind.UNVERIFIABLE, 8, None, 10)
    ]


@pytest.mark.parametrize("position", [0, None])
def test_what_went_before_anybody_knows_that_it_was_read_is_never_passed_over(position: int | None) -> None:
    read = [n for n in RECORDS if n >= 10]
    outcome = audited(read, [], vanished=(0, 10), position=position)
    assert [each for each in found(outcome) if each[0] is FindingKind.UNVERIFIABLE] == [
        (FindingKind.UNVERIFIABLE, 0, None, 10)
    ]


def test_a_first_audit_of_a_flow_that_has_copied_nothing_yet_does_not_call_lost_what_was_gone_by_then() -> None:
    logs = PartitionLogs(
        0,
        source_log([]),
        source_log([]),
        ComparedRange(0, 500, first_kept=500),
        ComparedRange(0, 0),
        first=True,
        position=0,
    )
    outside = AuditLookups(lambda _suspects: (lambda _record: Unseen.GONE,) * 2, nowhere)
    (outcome,) = audit_topic([logs], compacted=False, young_from=2**62, lookups=outside)
    assert (found(outcome), outcome.settled_coverage.expired, outcome.frontier[0]) == ([], 500, 500)


def test_a_target_that_forgets_while_it_is_read_has_lost_nothing() -> None:
    target = log_of(range(20, len(RECORDS)), RECORDS[20:])
    for first, expected in ((True, set()), (False, {FindingKind.UNVERIFIABLE})):
        stretches = ComparedRange(0, END), ComparedRange(0, len(RECORDS), vanished=(0, 20))
        logs = PartitionLogs(0, source_log(RECORDS), target, *stretches, first=first, position=END)
        outside = AuditLookups(lambda _suspects: (lambda _record: Unseen.GONE,) * 2, nowhere)
        (outcome,) = audit_topic([logs], compacted=False, young_from=2**62, lookups=outside)
        assert {kind for kind, *_ in found(outcome)} == expected
        assert outcome.settled_coverage.adds_up


def test_quarantined_ranges_are_not_counted_twice() -> None:
    outcome = audited(RECORDS, [n for n in RECORDS if n >= 8], vanished=(0, 20), aside=((0, 8),))
    assert (outcome.settled_coverage.excluded, outcome.settled_coverage.expired) == (8, 3)


@given(
    st.sets(st.sampled_from(RECORDS)),
    st.integers(0, END),
    st.integers(0, END),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, END)),
)
def test_whatever_vanishes_of_a_clean_copy_everything_adds_up_and_nothing_is_lost(
    missed: set[int], gone: int, start: int, first: bool, position: int | None
) -> None:
    start = min(start, gone)
    read = [n for n in RECORDS if n >= start and not (n in missed and n < gone)]
    copied = [n for n in RECORDS if n >= start]
    outcome = audited(read, copied, vanished=(start, gone), start=start, first=first, position=position)
    assert {kind for kind, *_ in found(outcome)} <= {FindingKind.UNVERIFIABLE}
