"""The audits of a planned failover: a result that comes after the approval, and one after a roll back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.checks.recorded_audits import filed, record_audit
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


@pytest.mark.long
def test_an_audit_that_ends_after_the_approval_supersedes_nothing_and_counts_after_a_roll_back(
    own_group: SwitchedGroup,
) -> None:
    group = own_group
    request = group.request()
    with group.protection.clients() as clients:
        seen = {check.name: check for check in run_step(StepName.PREFLIGHT, request, clients).checks}
        group.protection.approve(request, clients)
        _audited(group, clients.replicator(group.flow).where().seed_epoch)
        claimed = {check.name: check.outcome for check in run_step(StepName.CLAIM, request, clients).checks}
    assert (seen["checksum_audit"].outcome, seen["lag_audit"].outcome) == ("excused", "excused")
    assert claimed["decision_unchanged"] == "ok"

    group.roll_back(request)
    audits = group.protection.group.audits.model_copy(update={"before_failover": "green"})
    group.protection.changes = {"audits": audits}
    try:
        with group.protection.clients() as clients:
            after = {check.name: check for check in run_step(StepName.PREFLIGHT, group.request(), clients).checks}
            assert (after["checksum_audit"].outcome, after["lag_audit"].outcome) == ("ok", "ok")
            _newest(group, AuditKind.LAG).write_text("{}")
            record = failed(StepName.PREFLIGHT, group.request(), clients)
            _audited(group, clients.replicator(group.flow).where().seed_epoch)
            forged = _forged_after_it_was_recorded(group, clients)
    finally:
        group.protection.changes = {}
    assert record.outcome == "unknown"
    assert "the newest lag audit cannot be read" in record.detail
    assert forged.outcome == "unknown"
    assert "differs from what was recorded in the register" in forged.detail


def _audited(group: SwitchedGroup, epoch: int | None) -> None:
    for kind in AuditKind:
        at = datetime.now(UTC) - timedelta(minutes=1)
        result = AuditResult(kind, group.name, group.active, group.standby, epoch, AuditVerdict.GREEN, at, "all equal")
        ResultStore(group.protection.folder / "evidence").write(result)


def _forged_after_it_was_recorded(group: SwitchedGroup, clients: Clients) -> StepRecord:
    """Record a red audit, make it green in its file, and run preflight."""
    file = _newest(group, AuditKind.CHECKSUM)
    file.write_text(file.read_text().replace('"green"', '"red"'))
    found = filed(group.protection.folder / "evidence", group.flow, AuditKind.CHECKSUM, report="")
    assert found is not None
    record_audit(clients, found)
    file.write_text(file.read_text().replace('"red"', '"green"'))
    return failed(StepName.PREFLIGHT, group.request(), clients)


def _newest(group: SwitchedGroup, kind: AuditKind) -> Path:
    audits = group.protection.folder / "evidence" / "audits" / group.name
    return audits / kind / f"{group.active}-to-{group.standby}" / "newest.json"
