from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq

from jobs.checksum.report import ChecksumReport, PartitionReport
from jobs.checksum.report_tables import map_table, parquet
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import TopicPartition
from support.shown_reports import not_shown

PARTITION = PartitionReport(
    partition=TopicPartition("orders", 0),
    differences=(Difference(FindingKind.IN_FLIGHT, 0, 9, None, 1, 8_000),),
    open={},
    coverage=Coverage(10, 9, in_flight=1),
    frontier=(9, 12),
    end=10,
    unverified_since=8_000,
    hidden={},
    runs=(OffsetRun(0, 0, 5), OffsetRun(5, 8, 4)),
)
REPORT = ChecksumReport(
    flow="orders.east-to-west",
    epoch=1,
    at=datetime.fromtimestamp(10, UTC),
    full=False,
    partitions=(PARTITION,),
    topic_ids={"orders": ("a", "b")},
    self_test=(),
    failure="",
    duplicates_fail=True,
    seconds={},
    records_read=19,
    log_bytes=200,
)


def with_open(report: ChecksumReport, **counts: int) -> ChecksumReport:
    return replace(report, partitions=(replace(PARTITION, open=counts),))


def test_what_is_on_its_way_is_listed_and_is_no_finding() -> None:
    content = REPORT.to_json()
    assert not_shown("checksum", content) == set()
    assert (content["verdict"], content["counts"], content["findings"]) == ("equal", {}, [])
    assert [found["kind"] for found in REPORT.findings()] == ["IN_FLIGHT"]
    assert (content["verified_rpo_records"], content["verified_rpo_seconds"]) == (1, 2.0)


def test_an_open_finding_of_an_earlier_audit_is_still_a_finding() -> None:
    assert with_open(REPORT, LOST=1).verdict == "findings"


def test_duplicates_are_findings_where_the_topology_says_so() -> None:
    twice = with_open(REPORT, DUPLICATE=1, REPLAY=4)
    assert twice.verdict == "findings"
    assert replace(twice, duplicates_fail=False).verdict == "equal"
    assert replace(with_open(REPORT, DUPLICATE=1, LOST=1), duplicates_fail=False).verdict == "findings"


def test_an_audit_that_failed_is_unknown_whatever_it_found() -> None:
    assert replace(REPORT, failure="it missed a kind").verdict == "unknown"


def test_the_map_as_a_table_says_which_topics_and_epoch_it_is_about() -> None:
    rows = pq.read_table(io.BytesIO(parquet(map_table(REPORT.offset_map())))).to_pylist()
    assert [(row["source_start"], row["target_start"], row["length"]) for row in rows] == [(0, 0, 5), (5, 8, 4)]
    assert {(row["epoch"], row["source_topic_id"], row["target_topic_id"]) for row in rows} == {(1, "a", "b")}


def test_findings_are_capped_in_the_report_counted_in_full_and_kept_in_full(tmp_path: Path) -> None:
    found = tuple(Difference(FindingKind.LOST, 0, offset, None, 1, 8_000) for offset in range(120_000))
    partition = replace(PARTITION, differences=found, open={"LOST": len(found)})
    replace(REPORT, partitions=(partition,)).write(tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["counts"] == {"LOST": 120_000}
    assert report["sentence"].startswith("120000 LOST")
    assert len(report["findings"]) == 20
    kept = pq.read_table(tmp_path / "findings" / "part-0.parquet")
    assert kept["source_offset"].to_pylist() == list(range(120_000))
    with (tmp_path / "findings.jsonl").open() as lines:
        assert sum(1 for _ in lines) == 120_000


def test_what_an_open_transaction_on_the_source_hides_is_not_verified() -> None:
    hidden = {"source": {"from_offset": 10, "offsets": 7}, "target": {"from_offset": 12, "offsets": 3}}
    found = replace(PARTITION, frontier=(10, 13), hidden=hidden)
    assert found.to_json(datetime.fromtimestamp(10, UTC))["verified_rpo_records"] == 7
    assert replace(REPORT, partitions=(found, PARTITION)).to_json()["verified_rpo_records"] == 8
