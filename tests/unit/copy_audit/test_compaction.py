"""What compaction excuses, and what it does not: a hole in the offsets and a newer record of the key, both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import Unseen
from kafka_dr.audit.finding import FindingKind

#: A record: its offset, its key, and its content; no content deletes the key.
Short = tuple[int, int, int | None]


def log_of(records: Sequence[Short]) -> Fingerprints:
    offsets, keys, contents = zip(*records, strict=True) if records else ((), (), ())
    hashes = [hash((key, content)) for key, content in zip(keys, contents, strict=True)]
    flagged = [2 * key + (content is None) for key, content in zip(keys, contents, strict=True)]
    return Fingerprints(*(np.array(values, np.int64) for values in (offsets, [0] * len(offsets), hashes, flagged)))


def audited(
    source: Sequence[Short],
    target: Sequence[Short],
    *,
    end: int = 10,
    there: int | None = None,
    living: Collection[int] = (),
    position: int | None = None,
    young: Collection[int] = (),
) -> PartitionOutcome:
    """Audit a compacted partition.

    :param there: the end of the target, where it is another one
    :param young: offsets of the source whose records were written a moment ago
    """
    here = log_of(source)
    here = replace(here, timestamps=np.array([2**62 if offset in young else 0 for offset, *_ in source], np.int64))
    stretches = ComparedRange(0, end), ComparedRange(0, end if there is None else there)
    logs = PartitionLogs(0, here, log_of(target), *stretches, position=position)
    outside = AuditLookups(
        lambda _suspects: (lambda _record: Unseen.GONE,) * 2,
        nowhere,
        lambda _side, _partition, keys: frozenset(living) & set(keys.tolist()),
    )
    (outcome,) = audit_topic([logs], compacted=True, young_from=2**62, lookups=outside)
    assert (outcome.settled_coverage + outcome.waiting_coverage).adds_up
    return outcome


def faults(outcome: PartitionOutcome) -> list[tuple[FindingKind, int | None, int | None]]:
    return [(d.kind, d.source_offset, d.target_offset) for d in (*outcome.settled, *outcome.waiting)]


WHOLE: list[Short] = [(0, 1, 10), (1, 2, 20), (2, 1, 11), (3, 3, 30), (4, 2, 21)]


def test_a_record_that_a_newer_one_replaced_may_be_compacted_away_on_either_cluster() -> None:
    compacted = [record for record in WHOLE if record[0] not in (0, 1)]
    for source, target in ((WHOLE, compacted), (compacted, WHOLE)):
        outcome = audited(source, target, end=5)
        assert faults(outcome) == []
        assert outcome.settled_coverage.verified == 3
        assert outcome.settled_coverage.compacted == 2


def test_what_a_newer_record_replaced_that_never_came_is_no_stranger() -> None:
    source = [record for record in WHOLE if record[0] != 0]
    target = [record for record in WHOLE if record[0] != 2]
    assert faults(audited(source, target, end=5)) == [(FindingKind.LOST, 2, None)]


def test_the_newest_record_of_a_key_is_missed() -> None:
    assert faults(audited(WHOLE, [record for record in WHOLE if record[0] != 3])) == [(FindingKind.LOST, 3, None)]


def test_where_the_copy_has_no_hole_the_record_never_came() -> None:
    target = [(0, 2, 20), (1, 1, 11), (2, 3, 30), (3, 2, 21)]
    assert faults(audited(WHOLE, target, end=5)) == [(FindingKind.LOST, 0, None)]


def test_a_deletion_that_was_cleaned_up_is_not_missed_unless_something_is_left_to_delete() -> None:
    source = [(0, 1, 10), (1, 2, 20), (5, 1, None), (6, 2, 22)]
    assert faults(audited(source, [(1, 2, 20), (6, 2, 22)])) == []
    assert faults(audited(source, [(0, 1, 10), (1, 2, 20), (6, 2, 22)])) == [(FindingKind.LOST, 5, None)]


def test_a_deletion_is_missed_where_an_earlier_audit_saw_something_to_delete_that_is_there_still() -> None:
    rest: list[Short] = [(1, 2, 20), (6, 2, 22)]
    deletion: Short = (5, 1, None)
    assert faults(audited(sorted([*rest, deletion]), rest, living={2})) == []
    assert faults(audited(sorted([*rest, deletion]), rest, living={1})) == [(FindingKind.LOST, 5, None)]
    assert faults(audited(rest, sorted([*rest, deletion]), living={1})) == [(FindingKind.FOREIGN, None, 5)]


def test_a_strange_record_is_found_on_a_compacted_topic_too() -> None:
    target = [*WHOLE[:3], (3, 9, 90), (4, 3, 30), (5, 2, 21)]
    assert faults(audited(WHOLE, target)) == [(FindingKind.FOREIGN, None, 3)]


def test_a_deletion_that_may_still_come_of_a_key_that_the_copy_never_held_is_in_flight() -> None:
    outcome = audited([(0, 1, 10), (1, 9, None)], [(0, 1, 10)], end=2, position=1)
    assert faults(outcome) == [(FindingKind.IN_FLIGHT, 1, None)]
    assert (outcome.waiting_coverage.in_flight, outcome.waiting_coverage.compacted) == (1, 0)


def test_of_two_records_of_a_key_that_may_still_come_each_is_counted_once() -> None:
    outcome = audited([(0, 1, 10), (1, 2, 20), (2, 2, 21)], [(0, 1, 10)], end=3, there=2, position=1)
    assert faults(outcome) == [(FindingKind.IN_FLIGHT, 1, None)]
    assert (outcome.waiting_coverage.in_flight, outcome.waiting_coverage.compacted) == (2, 0)


def test_an_old_record_between_young_ones_of_another_key_is_lost() -> None:
    source: list[Short] = [(0, 1, 10), (1, 9, 90), (2, 8, 80), (3, 9, 91)]
    outcome = audited(source, [(0, 1, 10)], end=4, there=2, young=(1, 3))
    assert (FindingKind.LOST, 2, None) in faults(outcome)


@pytest.mark.parametrize("markers", [{2}, set()])
def test_a_record_is_not_excused_by_what_became_of_it(markers: set[int]) -> None:
    source: list[Short] = [(0, 1, 10), (1, 2, 20), (3, 3, 30)]
    target: list[Short] = [(0, 1, 10), (1, 2, 666), (3 - (not markers), 3, 30)]
    outcome = audited(source, target, end=4, there=4 if markers else 3)
    assert {1} == {offset for _, *offsets in faults(outcome) for offset in offsets if offset is not None}
    assert outcome.frontier == (1, 1)


def test_a_changed_copy_of_a_replaced_record_is_found_although_both_clusters_have_a_hole_for_it() -> None:
    source: list[Short] = [(0, 1, 10), (1, 2, 20), (3, 2, 21)]
    target: list[Short] = [(0, 1, 10), (1, 2, 666), (3, 2, 21)]
    outcome = audited(source, target, end=4)
    assert {1} == {offset for _, *offsets in faults(outcome) for offset in offsets if offset is not None}
    assert outcome.settled_coverage.compacted == 1
