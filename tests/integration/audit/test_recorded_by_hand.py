"""An audit that a person ran by hand: it counts for pages and for a failover when its digest was recorded."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kafka_dr.audit.report_folders import report_folder
from kafka_dr.audit.result import AuditKind
from kafka_dr.checks.audit_checks import newest_checksum_audit
from kafka_dr.runs.run import Run
from kafka_dr.watch_results import FlowNow, WatchResultStore, read_watch_status
from support.checksum import Auditor
from support.command_line import CommandLine
from support.protection import Protection
from support.switched_group import SwitchedGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_an_audit_by_hand_counts_once_its_digest_is_recorded_and_not_if_its_files_were_changed(
    protection: Protection, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    group = SwitchedGroup.adopt(protection)
    protection.produce("east", 40)
    group.wait_equal()
    first = _by_hand(protection, spark, capsys, 1)
    recorded = CommandLine(protection).run("record-audit", f"{group.name}.east-to-west", "--sha256", first)
    assert (recorded.code, recorded.err) == (0, "")
    assert _answer(group) == "green"
    shown = read_watch_status(group.name, "checksum", _kept(protection), datetime.now(UTC), flow=FlowNow("east"))
    assert (shown.outcome, shown.result is not None and shown.result.facts["verified_rpo_seconds"]) == ("ok", 0.0)

    protection.produce("east", 40)
    group.wait_equal()
    second = _by_hand(protection, spark, capsys, 2)
    assert _answer(group) == "unknown"
    audits = protection.folder / "evidence" / "audits" / group.name
    frontier = audits / "frontier-east-to-west.json"
    before = frontier.read_bytes()
    frontier.write_bytes(before + b" ")
    refused = CommandLine(protection).run("record-audit", f"{group.name}.east-to-west", "--sha256", second)
    assert refused.code not in {0, 1}
    assert _answer(group) == "unknown"
    frontier.write_bytes(before)
    assert CommandLine(protection).run("record-audit", f"{group.name}.east-to-west", "--sha256", second).code == 0
    assert _answer(group) == "green"


def _by_hand(protection: Protection, spark: SparkSession, capsys: pytest.CaptureFixture[str], number: int) -> str:
    """Run the job, and return the digest that it prints."""
    stamp = report_folder(datetime.now(UTC), "by-hand", number)
    folder = f"audits/{protection.name}/{AuditKind.CHECKSUM}/east-to-west/{stamp}"
    out = protection.folder / "evidence" / folder
    assert Auditor(protection, spark, protection.folder)(out=out).code == 0
    found = re.search(r"--sha256 ([0-9a-f]{64})$", capsys.readouterr().out, re.MULTILINE)
    assert found is not None
    return found[1]


def _answer(group: SwitchedGroup) -> str:
    with group.protection.clients() as clients:
        return str(newest_checksum_audit(Run(group.request(), clients)).answer)


def _kept(protection: Protection) -> WatchResultStore:
    return WatchResultStore(protection.folder / "evidence")
