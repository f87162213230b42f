from __future__ import annotations

from jobs.checksum.self_test import SelfTestBatch, truth
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from support.faulty_copy import KINDS

BATCH = SelfTestBatch({}, {}, ((FindingKind.LOST, 0, 5, None, 1), (FindingKind.FOREIGN, 1, None, 7, 1)))


def found(*faults: Difference) -> list[str]:
    return BATCH.missed(faults)


LOST = Difference(FindingKind.LOST, 0, 5, None, 1, 0)
FOREIGN = Difference(FindingKind.FOREIGN, 1, None, 7, 1, 0)


def test_an_audit_that_finds_just_what_is_wrong_passes() -> None:
    assert found(FOREIGN, LOST) == []


def test_one_that_misses_a_fault_or_invents_one_does_not() -> None:
    assert found(LOST) == ["FOREIGN in partition 1 was not found"]
    assert found(LOST, FOREIGN, Difference(FindingKind.LOST, 0, 6, None, 1, 0)) == ["LOST in partition 0 is not there"]


def test_every_kind_of_fault_that_a_copy_can_have_is_among_those_that_each_audit_has_to_find() -> None:
    assert {kind for kind, *_ in truth()} == {*KINDS}
