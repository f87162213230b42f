"""Ranges that a failback quarantined are not findings on either cluster, and the audit says that it left them out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import PayloadOf, Unseen
from kafka_dr.audit.difference import Suspects

ASIDE = ((3, 6),)
WITH, WITHOUT = "abcXYZdef", "abcdef"


def log(contents: str) -> Fingerprints:
    offsets = np.arange(len(contents), dtype=np.int64)
    return Fingerprints(
        offsets, np.zeros(len(contents), np.int64), np.array([ord(letter) for letter in contents], np.int64)
    )


def nothing_to_look_at(_suspects: Sequence[Suspects]) -> tuple[PayloadOf, PayloadOf]:
    return (lambda _record: Unseen.GONE), (lambda _record: Unseen.GONE)


def audited(
    source: Fingerprints, target: Fingerprints, *, ends: tuple[int, int], aside: tuple[tuple[int, int], ...]
) -> PartitionOutcome:
    logs = PartitionLogs(0, source, target, ComparedRange(0, ends[0]), ComparedRange(0, ends[1]), quarantined=aside)
    outside = AuditLookups(nothing_to_look_at, nowhere)
    (found,) = audit_topic([logs], compacted=False, young_from=2**60, lookups=outside)
    return found


def test_on_the_target_it_is_not_foreign() -> None:
    found = audited(log(WITHOUT), log(WITH).without(ASIDE), ends=(6, 9), aside=())
    assert (found.settled, found.waiting, found.matched) == ((), (), 6)
    assert found.settled_coverage.excluded == 0
    assert audited(log(WITHOUT), log(WITH), ends=(6, 9), aside=()).settled != ()


def test_on_the_source_it_is_not_lost_and_every_offset_is_accounted_for() -> None:
    found = audited(log(WITH).without(ASIDE), log(WITHOUT), ends=(9, 6), aside=ASIDE)
    coverage = found.settled_coverage + found.waiting_coverage
    assert (found.settled, found.waiting) == ((), ())
    assert (coverage.verified, coverage.excluded, coverage.control) == (6, 3, 0)
    assert coverage.adds_up


def test_a_loss_next_to_it_is_still_found() -> None:
    found = audited(log(WITH).without(ASIDE), log("abcef"), ends=(9, 5), aside=ASIDE)
    assert [(each.kind.value, each.source_offset, each.count) for each in found.settled] == [("LOST", 6, 1)]


@pytest.mark.parametrize(
    ("stretches", "kept"), [((), 9), (((0, 9),), 0), (((3, 6),), 6), (((20, 30),), 9), (((0, 1), (8, 20)), 7)]
)
def test_records_within_stretches_are_left_out(stretches: tuple[tuple[int, int], ...], kept: int) -> None:
    assert len(log(WITH).without(stretches)) == kept
