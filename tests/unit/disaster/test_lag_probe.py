"""A lag audit says something about a cluster that may be down only while the audit is fresh."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict
from kafka_dr.disaster.probes import lag_probe
from support.sentences import assert_sentence

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("verdict", "age", "outcome"),
    [
        (AuditVerdict.GREEN, 60, "ok"),
        (AuditVerdict.RED, 60, "failed"),
        (AuditVerdict.WARNING, 60, "failed"),
        (AuditVerdict.UNKNOWN, 60, "unknown"),
        (AuditVerdict.GREEN, 901, "unknown"),
        (AuditVerdict.RED, 901, "unknown"),
    ],
)
def test_a_lag_audit_says_something_only_while_it_is_fresh(verdict: AuditVerdict, age: int, outcome: str) -> None:
    kept = AuditResult(AuditKind.LAG, "orders", "east", "west", 1, verdict, NOW - timedelta(seconds=age), "as it was")
    found = lag_probe(kept, now=NOW, limit_seconds=900, threshold=300)
    assert (found.name, found.outcome) == ("lag", outcome)
    assert_sentence(found.detail)


@pytest.mark.parametrize(
    ("behind", "age", "over"), [(301.0, 60, True), (300.0, 60, False), (None, 60, False), (301.0, 901, False)]
)
def test_only_a_long_lag_in_a_fresh_audit_is_over_the_threshold(behind: float | None, age: int, over: bool) -> None:
    at = NOW - timedelta(seconds=age)
    kept = AuditResult(
        AuditKind.LAG, "orders", "east", "west", 1, AuditVerdict.RED, at, "as it was", behind_seconds=behind
    )
    found = lag_probe(kept, now=NOW, limit_seconds=900, threshold=300)
    assert found.facts.get("over_threshold", False) is over
