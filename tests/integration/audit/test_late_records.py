"""Records that an audit reported lost and that come before the next one: late, never copied twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.result import AuditKind, AuditVerdict, ResultStore
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from support.checksum import Auditor, minutes_ago
from support.faulty_copy import Known
from support.plain_flow import PlainFlow
from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
_COUNT = 20
#: The record that does not come at first.
_LOST = 7


def records(topic: str, *, keys: int) -> list[NewRecord]:
    """Return records that nobody waits for any more.

    :param keys: how many different ones there are
    """
    start = minutes_ago(30)
    partition = TopicPartition(topic, 0)
    return [
        NewRecord(partition, f"k{n % keys}".encode(), f"v{n}".encode(), (("h", b"1"),), start + n)
        for n in range(_COUNT)
    ]


def made(protection: Protection, name: str, *, keys: int = _COUNT, policy: str = "delete") -> list[NewRecord]:
    """Create a topic on both clusters, write it on the source, and all but one record on the target."""
    topic = f"{protection.name}.{name}"
    written = records(topic, keys=keys)
    for cluster, there in (("east", written), ("west", [*written[:_LOST], *written[_LOST + 1 :]])):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=2, replication_factor=1, config={"cleanup.policy": policy})
            admin.writing.append(there)
    return written


def arrive(protection: Protection, arriving: Sequence[NewRecord]) -> None:
    with protection.cluster("west", "admin") as west:
        west.writing.append(arriving)


def test_what_was_lost_and_comes_later_is_late_and_closes_its_finding(flowing: PlainFlow, audit: Auditor) -> None:
    protection = flowing.protection
    plain, table = made(protection, "plain"), made(protection, "table", policy="compact")
    topics = [written[0].partition.topic for written in (plain, table)]
    first = audit()
    assert (first.code, first.report["counts"]) == (1, {"LOST": 2})
    again = audit()
    assert (again.code, again.lines, again.report["counts"]) == (1, [], {"LOST": 2})
    arrive(protection, [plain[_LOST], table[_LOST]])
    late = audit()
    assert (late.code, late.report["verdict"], late.report["counts"]) == (0, "equal", {})
    for topic in topics:
        assert late.found(topic) == [Known(FindingKind.LATE, 0, _LOST, _COUNT - 1)]
    assert "2 that were reported lost came late" in late.report["sentence"]
    assert late.report["verified_rpo_records"] == 0
    kept = ResultStore(protection.folder / "evidence").newest(
        AuditKind.CHECKSUM, group=protection.name, source="east", target="west"
    )
    assert kept is not None
    assert kept.verdict is AuditVerdict.GREEN
    for topic in topics:
        assert late.topic(topic)["partitions"][0]["frontier"] == {"source_offset": _COUNT, "target_offset": _COUNT}
    # What comes once more was copied twice.
    arrive(protection, [plain[_LOST], plain[3]])
    twice = audit()
    assert (twice.code, twice.report["counts"]) == (1, {"DUPLICATE": 2})
    assert twice.found(topics[0]) == [
        Known(FindingKind.DUPLICATE, 0, 3, _COUNT + 1),
        Known(FindingKind.DUPLICATE, 0, _LOST, _COUNT),
    ]


@pytest.mark.long
def test_what_comes_later_and_is_not_as_it_was_keeps_a_finding_of_its_own(flowing: PlainFlow, audit: Auditor) -> None:
    protection = flowing.protection
    hot = made(protection, "overtaken", keys=4, policy="compact")
    header, moved, strange = (made(protection, name) for name in ("header", "moved", "strange"))
    assert audit().report["counts"] == {"LOST": 4}
    assert audit().report["counts"] == {"LOST": 4}
    alien = NewRecord(strange[0].partition, b"alien", b"strange", (), strange[0].timestamp_ms)
    elsewhere = replace(moved[_LOST], partition=TopicPartition(moved[0].partition.topic, 1))
    arrive(protection, [hot[_LOST], replace(header[_LOST], headers=()), elsewhere, alien])
    found = audit()
    assert found.report["counts"] == {"CORRUPT_HEADER": 1, "FOREIGN": 1, "LOST": 1, "MOVED": 1, "REORDERED": 1}
    told = {
        line["topic"].rpartition(".")[2]: (line["kind"], line["source_offset"], line["detail"]) for line in found.lines
    }
    late = "it was reported lost, and came later"
    assert told == {
        "overtaken": ("REORDERED", _LOST, f"{late}, after a newer record of its key"),
        "header": ("CORRUPT_HEADER", _LOST, late),
        "moved": ("MOVED", _LOST, f"on the target it is in partition 1; {late}"),
        "strange": ("FOREIGN", None, ""),
    }
    arrive(protection, [strange[_LOST]])
    last = audit()
    assert last.report["counts"] == {"CORRUPT_HEADER": 1, "FOREIGN": 1, "MOVED": 1, "REORDERED": 1}
    assert [(line["kind"], line["source_offset"]) for line in last.lines] == [("LATE", _LOST)]
