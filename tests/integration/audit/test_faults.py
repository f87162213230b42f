"""Faults that were made on real clusters, alone and by thousands: the audit finds each at its offsets."""

from __future__ import annotations

import pytest

from support.checksum import Auditor, minutes_ago, write_copy
from support.crowded_copy import crowded_copy, one_by_one
from support.faulty_copy import KINDS, FaultyCopy
from support.plain_flow import PlainFlow

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.mark.long
def test_each_kind_of_fault_alone_is_found_at_its_offsets_and_stays_until_a_full_audit(
    flowing: PlainFlow, audit: Auditor
) -> None:
    name = flowing.protection.name
    copies = {
        f"{name}.{kind.lower().replace('_', '-')}": FaultyCopy.make(
            partitions=2, records=60, faults=[kind], seed=number, start=minutes_ago(30)
        )
        for number, kind in enumerate(KINDS)
    }
    clean = f"{name}.clean"
    copies[clean] = FaultyCopy.make(partitions=2, records=60, faults=[], seed=99, start=minutes_ago(30))
    for topic, copy in copies.items():
        write_copy(flowing.protection, topic, copy)
    found = audit()
    assert found.code == 1
    for topic, copy in copies.items():
        assert found.found(topic) == copy.truth, topic
        assert found.topic(topic)["verdict"] == ("equal" if topic == clean else "findings")
    assert found.report["coverage"]["produced"] == sum(
        value for name, value in found.report["coverage"].items() if name != "produced"
    )
    again = audit()
    assert (again.code, again.lines, again.report["records_read"]) == (1, [], 0)
    assert again.report["counts"] == found.report["counts"]
    full = audit("--full")
    assert full.report["counts"] == found.report["counts"]


def test_mixed_faults_are_found_offset_for_offset(flowing: PlainFlow, audit: Auditor) -> None:
    topic = f"{flowing.protection.name}.mixed"
    copy = FaultyCopy.make(partitions=3, records=2_000, faults=KINDS * 6, seed=11, start=minutes_ago(30))
    write_copy(flowing.protection, topic, copy, source={"compression.type": "zstd"}, target={"compression.type": "lz4"})
    found = audit()
    assert (found.code, found.found(topic)) == (1, copy.truth)
    assert found.report["self_test"] == {"passed": True, "missed": []}


@pytest.mark.long
def test_thousands_of_faults_next_to_each_other_are_distinguished_offset_for_offset(
    flowing: PlainFlow, audit: Auditor
) -> None:
    topic = f"{flowing.protection.name}.crowded"
    copy = crowded_copy(partitions=3, records=6_000, faults=KINDS * 500, seed=23, per_ms=250, start=minutes_ago(30))
    write_copy(flowing.protection, topic, copy)
    found = audit("--topics", topic)
    assert len(copy.truth) > 4_000
    assert one_by_one(found.found(topic)) == one_by_one(copy.truth)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_thousand_mixed_faults_in_a_million_records_are_found_offset_for_offset(
    flowing: PlainFlow, audit: Auditor
) -> None:
    topic = f"{flowing.protection.name}.million"
    copy = FaultyCopy.make(partitions=4, records=250_000, faults=KINDS * 100, seed=5, start=minutes_ago(60))
    write_copy(flowing.protection, topic, copy)
    assert audit().found(topic) == copy.truth
