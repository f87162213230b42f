"""The audit of a topic against copies whose faults are known, offset for offset; no broker, no Spark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copy_audit.digests import digests
from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import Payload, Unseen
from kafka_dr.audit.coverage import total
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.offset_runs import translate
from support.faulty_copy import KINDS, FaultyCopy, Known
from support.topic_audits import OLD, audited, end_of, found, log_of, outside

_PARTITIONS = 3
#: Faults that concern one record each, wherever an audit ends.
_ALONE = (FindingKind.LOST, FindingKind.CORRUPT_VALUE, FindingKind.CORRUPT_HEADER, FindingKind.FOREIGN)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault_alone_is_found_at_its_offsets(kind: FindingKind) -> None:
    copy = FaultyCopy.make(partitions=_PARTITIONS, records=100, faults=[kind], seed=7)
    assert len(copy.truth) == 1
    assert found(audited(copy)) == copy.truth


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=12), st.integers(0, 10**9), st.sampled_from([0.0, 0.2]))
def test_mixed_faults_are_found_offset_for_offset_and_everything_adds_up(
    faults: list[FindingKind], seed: int, markers: float
) -> None:
    copy = FaultyCopy.make(partitions=_PARTITIONS, records=150, faults=faults, seed=seed, markers=markers)
    outcomes = audited(copy)
    assert found(outcomes) == copy.truth
    for outcome in outcomes:
        coverage = total([outcome.settled_coverage, outcome.waiting_coverage])
        assert coverage.adds_up
        assert coverage.produced == end_of(copy.source[outcome.partition])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=6), st.integers(0, 10**9))
def test_below_the_frontier_there_is_no_fault_and_at_it_there_is_one(faults: list[FindingKind], seed: int) -> None:
    copy = FaultyCopy.make(partitions=_PARTITIONS, records=150, faults=faults, seed=seed)
    for outcome in audited(copy):
        harmful = [
            known.source_offset
            for known in copy.truth
            if known.partition == outcome.partition
            and known.source_offset is not None
            and known.kind not in (FindingKind.DUPLICATE, FindingKind.REPLAY)
        ]
        assert outcome.frontier[0] == min([*harmful, end_of(copy.source[outcome.partition])])


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 10**9),
    st.lists(st.sampled_from([FindingKind.DUPLICATE, FindingKind.REPLAY, FindingKind.FOREIGN]), max_size=5),
)
def test_the_map_leads_every_position_to_the_same_next_record(seed: int, faults: list[FindingKind]) -> None:
    copy = FaultyCopy.make(partitions=2, records=120, faults=faults, seed=seed, markers=0.3)
    for outcome in audited(copy):
        source, target = copy.source[outcome.partition], copy.target[outcome.partition]
        first = {record.origin: record.offset for record in reversed(target) if record.kind is None}
        for record in source:
            assert translate(outcome.runs, record.offset) == first[record.offset]


def test_a_loss_hidden_by_as_many_duplicates_is_found() -> None:
    copy = FaultyCopy.make(partitions=1, records=200, faults=[FindingKind.LOST, FindingKind.DUPLICATE] * 4, seed=3)
    assert len(copy.source[0]) == len(copy.target[0])
    assert found(audited(copy)) == copy.truth


def cut(copy: FaultyCopy, records: int) -> FaultyCopy:
    """Return the copy with the end of its target missing."""
    return FaultyCopy(copy.source, {p: there[: len(there) - records] for p, there in copy.target.items()})


def test_what_is_not_there_yet_is_in_flight_while_it_is_young_and_lost_when_it_is_old() -> None:
    copy = cut(FaultyCopy.make(partitions=1, records=50, faults=[], seed=1), 10)
    (young,) = audited(copy, young_from=0)
    assert [(d.kind, d.source_offset, d.count) for d in young.waiting] == [(FindingKind.IN_FLIGHT, 40, 10)]
    assert (young.resume, young.frontier, young.waiting_coverage.in_flight) == ((40, 40), (40, 40), 10)
    (old,) = audited(copy, young_from=OLD)
    assert [(d.kind, d.source_offset, d.count) for d in old.settled] == [(FindingKind.LOST, 40, 10)]


def test_the_flows_own_position_separates_what_was_passed_over_from_what_waits() -> None:
    copy = cut(FaultyCopy.make(partitions=1, records=50, faults=[], seed=1), 10)
    (outcome,) = audited(copy, young_from=OLD, position=45)
    assert [(d.kind, d.source_offset, d.count) for d in (*outcome.settled, *outcome.waiting)] == [
        (FindingKind.LOST, 40, 5),
        (FindingKind.IN_FLIGHT, 45, 5),
    ]
    assert outcome.resume == (45, 40)


@pytest.mark.parametrize(
    ("late_before", "seen_below", "late", "on_its_way"),
    [
        (7 * 47, 0, (45, 2), (47, 3)),
        (7 * 47, 49, (45, 4), (49, 1)),
        (0, 46, (45, 1), (46, 4)),
        (OLD, 0, (45, 5), None),
        (0, 45, None, (45, 5)),
    ],
)
def test_what_waits_for_longer_than_it_may_is_late_and_still_not_settled(
    late_before: int, seen_below: int, late: tuple[int, int] | None, on_its_way: tuple[int, int] | None
) -> None:
    copy = cut(FaultyCopy.make(partitions=1, records=50, faults=[], seed=1), 10)
    limits = {"young_from": OLD, "late_before": late_before, "seen_below": seen_below}
    (outcome,) = audited(copy, position=45, **limits)
    expected = [(FindingKind.LATE, *late)] if late else []
    expected += [(FindingKind.IN_FLIGHT, *on_its_way)] if on_its_way else []
    assert [(d.kind, d.source_offset, d.count) for d in outcome.waiting] == expected
    assert (outcome.resume, outcome.late) == ((45, 40), (45, 45 + late[1]) if late else None)
    assert outcome.waiting_coverage.adds_up
    assert outcome.waiting_coverage.differing == (late[1] if late else 0)
    after_all = outcome.in_time()
    assert {d.kind for d in after_all.waiting} == {FindingKind.IN_FLIGHT}
    assert (after_all.waiting_coverage.in_flight, after_all.waiting_coverage.adds_up) == (5, True)


def test_without_a_position_nothing_waits_that_is_too_old() -> None:
    copy = cut(FaultyCopy.make(partitions=1, records=50, faults=[], seed=1), 10)
    (outcome,) = audited(copy, young_from=0, late_before=OLD)
    assert [(d.kind, d.count) for d in outcome.waiting] == [(FindingKind.IN_FLIGHT, 10)]


def test_a_record_that_a_later_one_overtook_is_lost_however_young_it_is() -> None:
    copy = FaultyCopy.make(partitions=1, records=50, faults=[], seed=1)
    del copy.target[0][30]
    (outcome,) = audited(copy, young_from=0)
    assert [(d.kind, d.source_offset, d.count) for d in outcome.settled] == [(FindingKind.LOST, 30, 1)]


def test_copies_of_what_a_cut_off_source_no_longer_has_are_no_strangers() -> None:
    copy = FaultyCopy.make(partitions=1, records=100, faults=[], seed=1)
    source, target = copy.source[0][:60], copy.target[0][:90]
    stretches = ComparedRange(0, 60), ComparedRange(0, 90)
    logs = PartitionLogs(0, log_of(source), log_of(target), *stretches, left_over=80)
    (outcome,) = audit_topic([logs], compacted=False, young_from=OLD, lookups=outside(copy))
    assert [(d.kind, d.target_offset, d.count) for d in outcome.settled] == [(FindingKind.FOREIGN, 80, 10)]
    assert outcome.settled_coverage.verified == 60


def test_a_whole_partition_whose_headers_were_rewritten_is_one_finding() -> None:
    copy = FaultyCopy.make(partitions=1, records=400, faults=[], seed=1)
    for record in copy.target[0]:
        record.payload = Payload(record.payload.key, record.payload.value, (("x", b"y"),), record.payload.timestamp)
    assert found(audited(copy)) == [Known(FindingKind.CORRUPT_HEADER, 0, 0, 0, 400)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.lists(st.sampled_from(_ALONE), max_size=6), st.integers(1, 119), st.integers(0, 20))
def test_two_audits_cover_and_find_what_one_does(seed: int, faults: list[FindingKind], copied: int, ahead: int) -> None:
    copy = FaultyCopy.make(partitions=1, records=120, faults=faults, seed=seed, markers=0.2)
    source, target = copy.source[0], copy.target[0]
    position, end = source[copied].offset, end_of(source[: copied + ahead])
    arrived = next((n for n, r in enumerate(target) if (r.origin or 0) >= position), len(target))
    whole = log_of(source), log_of(target)
    there = end_of(target[:arrived])
    first = PartitionLogs(
        0, whole[0].below(end), whole[1].below(there), ComparedRange(0, end), ComparedRange(0, there), position=position
    )
    (one,) = audit_topic([first], compacted=False, young_from=0, lookups=outside(copy))
    rest = PartitionLogs(
        0,
        whole[0].since(one.resume[0]),
        whole[1].since(one.resume[1]),
        ComparedRange(one.resume[0], end_of(source)),
        ComparedRange(one.resume[1], end_of(target)),
        first=False,
    )
    (two,) = audit_topic([rest], compacted=False, young_from=OLD, lookups=outside(copy))
    covered = total([one.settled_coverage, two.settled_coverage, two.waiting_coverage])
    assert (covered.adds_up, covered.produced) == (True, end_of(source))
    once = audited(copy)[0]
    assert covered == once.settled_coverage + once.waiting_coverage
    both = [*one.settled, *two.settled, *two.waiting]
    assert sorted(Known(d.kind, 0, d.source_offset, d.target_offset, d.count) for d in both) == copy.truth
    assert sums(one, two) == sums(once)


def sums(*outcomes: PartitionOutcome) -> dict[int, list[int]]:
    """Add up the digests of several audits."""
    found: dict[int, list[int]] = {}
    for outcome in outcomes:
        assert outcome.digests is not None
        rows = np.concatenate((outcome.digests.source, outcome.digests.target), axis=1)
        for minute, row in zip(outcome.digests.minutes.tolist(), rows.tolist(), strict=True):
            before = found.get(minute, [0] * 4)
            found[minute] = [(one + other + 2**63) % 2**64 - 2**63 for one, other in zip(before, row, strict=True)]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_digests_see_every_fault_but_a_change_of_order(kind: FindingKind) -> None:
    copy = FaultyCopy.make(partitions=2, records=60, faults=[kind], seed=8)
    differing = sum(outcome.digests.differing for outcome in audited(copy) if outcome.digests is not None)
    assert (differing > 0) == (kind is not FindingKind.REORDERED)


def test_digests_hold_what_a_minute_has_however_late_it_came() -> None:
    times = [0, 59_999, 60_000, 1, 120_000]
    hashes = [2**63 - 1, 2**63 - 1, 3, 4, 5]
    log = Fingerprints(*(np.array(values, np.int64) for values in (range(5), times, hashes)))
    found = digests(log, log.below(4))
    assert found.minutes.tolist() == [0, 1, 2]
    assert found.source.tolist() == [[3, 2], [1, 3], [1, 5]]
    assert found.target.tolist() == [[3, 2], [1, 3], [0, 0]]
    assert found.differing == 1


def bare(contents: Sequence[int], times: Sequence[int] = ()) -> Fingerprints:
    columns = (range(len(contents)), times or [0] * len(contents), contents)
    return Fingerprints(*(np.array(list(column), np.int64) for column in columns))


def between(partition: int, source: Fingerprints, target: Fingerprints) -> PartitionLogs:
    return PartitionLogs(partition, source, target, ComparedRange(0, len(source)), ComparedRange(0, len(target)))


_GONE = AuditLookups(lambda _suspects: (lambda _record: Unseen.GONE,) * 2, nowhere)


def test_an_old_record_after_a_young_one_that_came_in_another_order_is_settled_once() -> None:
    logs = between(0, bare([1, 3, 5, 2], [0, 0, 9, 0]), bare([2, 1, 3]))
    (outcome,) = audit_topic([logs], compacted=False, young_from=5, lookups=_GONE)
    assert [(d.kind, d.source_offset) for d in outcome.settled] == [(FindingKind.LOST, 2), (FindingKind.REORDERED, 3)]
    assert outcome.resume[0] == 4
    assert outcome.settled_coverage.adds_up


def test_what_came_again_in_another_partition_says_nothing_about_what_is_on_its_way() -> None:
    here = between(0, bare([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 9, 9]), bare([1, 2, 3, 4, 1007]))
    there = between(1, bare(range(1000, 1020)), bare(range(1000, 1020)))
    outcome, _ = audit_topic([here, there], compacted=False, young_from=5, lookups=_GONE)
    assert [(d.kind, d.source_offset, d.count) for d in outcome.waiting] == [(FindingKind.IN_FLIGHT, 4, 2)]
    assert [d.kind for d in outcome.settled] == [FindingKind.DUPLICATE]
