"""A result that differs from what was journaled is unknown, whether it was changed, replaced or removed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.audit.gate import GateAnswer, GateVerdict
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.checks.recorded_audits import filed, unless_changed
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.recorded_inputs import AUDITS
from support.sentences import assert_sentence

FLOW = Flow("orders", "east", "west")
AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
RED = AuditResult(
    AuditKind.CHECKSUM, "orders", "east", "west", 3, AuditVerdict.RED, AT, "2 are lost", "s3://e/a/r.json"
)
GREEN = replace(RED, verdict=AuditVerdict.GREEN, sentence="all equal")
GREEN_SAID = GateVerdict(GateAnswer.GREEN, "green", GREEN)
NEVER = GateVerdict(GateAnswer.NEVER, "never")


def history(result: AuditResult) -> dict[str, Any]:
    return {AUDITS: {"checksum.east-to-west": {"sha256": result.sha256, "at": result.at.isoformat()}}}


@pytest.mark.parametrize("verdict", [GREEN_SAID, NEVER])
def test_a_result_that_is_not_the_recorded_one_is_unknown(verdict: GateVerdict) -> None:
    found = unless_changed(verdict, history(RED), FLOW, AuditKind.CHECKSUM)
    assert found.answer is GateAnswer.UNKNOWN
    assert_sentence(found.sentence)


def test_the_recorded_result_and_one_of_a_former_version_are_judged_by_what_they_say() -> None:
    assert unless_changed(GREEN_SAID, history(GREEN), FLOW, AuditKind.CHECKSUM) is GREEN_SAID
    assert unless_changed(GREEN_SAID, {}, FLOW, AuditKind.CHECKSUM) is GREEN_SAID
    assert unless_changed(GREEN_SAID, history(RED), Flow("orders", "west", "east"), AuditKind.CHECKSUM) is GREEN_SAID


def test_only_the_result_of_the_jobs_own_report_is_recorded(tmp_path: Path) -> None:
    ResultStore(tmp_path).write(GREEN)
    assert filed(tmp_path, FLOW, AuditKind.CHECKSUM, report="a/r.json") == GREEN
    assert filed(tmp_path, FLOW, AuditKind.CHECKSUM, report="a/other.json") is None
    assert filed(tmp_path, FLOW, AuditKind.LAG, report="a/r.json") is None
