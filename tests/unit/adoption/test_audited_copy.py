"""What a take over reads of the audit of a copy, and what it journals of that."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.adoption.take_over.audited_copy import MOST_JOURNALED, audited_copy
from kafka_dr.audit.report_folders import is_report_folder, report_folder
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.positions import CountedRange, SeedPoint, TopicPartition
from kafka_dr.register.taken_over import CopyMade, Displaced
from kafka_dr.replication.flow import Flow

FLOW = Flow("orders", "east", "west")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
P = TopicPartition("orders.payments", 0)
FOLDER = f"audits/orders/checksum/east-to-west/{report_folder(AT, 'a-run', 1)}"


def report(**changes: Any) -> dict[str, Any]:
    partition = {
        "partition": 0,
        "copied": {"source_offset": 110, "target_offset": 130},
        "pairs": [[0, 0], [60, 70]],
        "displaced": [[[40, 42], [45, 47]]],
        "second_copies": [[100, 118, 15]],
    }
    topic = {"topic": "orders.payments", "topic_ids": {"source": "a", "target": "b"}, "partitions": [partition]}
    return {
        "at": AT.isoformat(),
        "verdict": "findings",
        "sentence": "20 of 110 differ",
        "full": True,
        "topics": [topic],
    } | changes


def finding(kind: str, source: int | None, target: int | None, count: int) -> dict[str, Any]:
    offsets = {"source_offset": source, "target_offset": target}
    return {"topic": P.topic, "partition": 0, "kind": kind, "count": count, **offsets}


def filed(
    root: Path, said: dict[str, Any] | str, *findings: dict[str, Any], epoch: int | None = None, at: str = FOLDER
) -> None:
    """Write what the job writes."""
    folder = root / FOLDER
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(said if isinstance(said, str) else json.dumps(said))
    (folder / "findings.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in findings))
    report_uri = f"s3://bucket/{at}/report.json"
    result = AuditResult(AuditKind.CHECKSUM, "orders", "east", "west", epoch, AuditVerdict.RED, AT, "said", report_uri)
    ResultStore(root).write(result)


def test_faults_are_counted_by_topic_and_kind_and_what_may_still_come_is_none(tmp_path: Path) -> None:
    filed(
        tmp_path,
        report(),
        finding("REPLAY", None, 100, 15),
        finding("LOST", 80, None, 5),
        finding("LOST", 110, None, 3),
        finding("IN_FLIGHT", 113, None, 2),
        finding("LATE", 115, None, 2),
    )
    found = audited_copy(tmp_path, FLOW)
    assert found.findings == {"orders.payments": {"LOST": 5, "REPLAY": 15}}
    assert found.counts == {"LOST": 5, "REPLAY": 15}
    assert found.examples == (
        "REPLAY: 15 records of orders.payments-0 from target offset 100 on",
        "LOST: 5 records of orders.payments-0 from source offset 80 on",
    )
    assert (found.at, found.ended_at, found.whole, found.report) == (AT, AT, True, FOLDER)
    written = (tmp_path / FOLDER / "report.json").read_bytes() + (tmp_path / FOLDER / "findings.jsonl").read_bytes()
    assert found.sha256 == hashlib.sha256(written).hexdigest()


def test_its_age_begins_when_it_has_compared_everything_which_may_take_hours(tmp_path: Path) -> None:
    filed(tmp_path, report(seconds={"read": 7000.5, "total": 7200.0}))
    found = audited_copy(tmp_path, FLOW)
    assert (found.at, found.ended_at) == (AT, AT + timedelta(hours=2))


def test_what_is_approved_is_journaled_and_read_back_as_it_was(tmp_path: Path) -> None:
    filed(tmp_path, report(), finding("LOST", 80, None, 5))
    made = audited_copy(tmp_path, FLOW).as_approved()
    assert made.compared == {P: SeedPoint(110, 130)}
    assert made.pairs == {P: (SeedPoint(0, 0), SeedPoint(60, 70))}
    assert made.displaced == (Displaced(P, (40, 42), (45, 47)),)
    assert made.topic_ids == {"orders.payments": "a"}
    assert made.second_copies == {P: (CountedRange(100, 118, 15),)}
    assert CopyMade.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_however_many_partitions_hold_records_twice_the_fact_stays_small_and_counts_all(tmp_path: Path) -> None:
    said = report()
    [of_one] = said["topics"][0]["partitions"]
    ranges = [[4 * n, 4 * n + 2, 2] for n in range(64)]
    said["topics"][0]["partitions"] = [
        {**of_one, "partition": n, "displaced": [], "second_copies": ranges} for n in range(500)
    ]
    filed(tmp_path, said)
    made = audited_copy(tmp_path, FLOW).as_approved().second_copies
    assert sum(map(len, made.values())) <= MOST_JOURNALED
    assert {sum(each.records for each in found) for found in made.values()} == {128}
    assert len(made) == 500


def test_without_an_audit_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"checksum_audit.py --topology FILE --flow orders.east-to-west --full") as said:
        audited_copy(tmp_path, FLOW)
    folder, _, stamp = str(said.value).partition(" --out ")[2].rpartition("/")
    assert folder == "EVIDENCE_ROOT/audits/orders/checksum/east-to-west"
    assert is_report_folder(stamp)


def test_an_audit_of_this_projects_own_flow_says_nothing_about_the_existing_one(tmp_path: Path) -> None:
    filed(tmp_path, report(), epoch=3)
    with pytest.raises(Refused, match=r"a flow of this project \(epoch 3\)"):
        audited_copy(tmp_path, FLOW)


def test_a_report_that_is_elsewhere_or_gone_is_refused(tmp_path: Path) -> None:
    filed(tmp_path, report(), at="somewhere")
    with pytest.raises(Refused, match="where nobody looks for it"):
        audited_copy(tmp_path, FLOW)


def test_a_report_that_is_gone_is_refused(tmp_path: Path) -> None:
    filed(tmp_path, report())
    (tmp_path / FOLDER / "findings.jsonl").unlink()
    with pytest.raises(Refused, match="is gone"):
        audited_copy(tmp_path, FLOW)


@pytest.mark.parametrize("broken", ["no json", "{}", "[]", json.dumps(report(topics=[{"topic": "t"}]))])
def test_a_report_that_cannot_be_read_is_left_to_a_person(tmp_path: Path, broken: str) -> None:
    filed(tmp_path, broken)
    with pytest.raises(NeedsPerson, match="cannot be read"):
        audited_copy(tmp_path, FLOW)
