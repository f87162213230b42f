"""What an approval is bound to: each check as the approver saw it. What became good since supersedes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.approvals import decision
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs.run import Run
from support.sentences import assert_sentence


def facts(lag: str, **more: Any) -> dict[str, Any]:
    return {"protection_group": "orders", "check_outcomes": {"route": "ok", "lag_audit": lag}, **more}


def judged(
    approved: dict[str, Any],
    now: dict[str, Any],
    *,
    kept: dict[str, Any] | None = None,
    verb: str = "planned_failover",
) -> Check:
    """Judge an approval of some facts, while the evidence holds them, or others."""
    record = {"facts": {"decision": approved if kept is None else kept}}
    run = SimpleNamespace(
        group=SimpleNamespace(name="orders"),
        request=SimpleNamespace(run="r1", verb=verb),
        clients=SimpleNamespace(evidence=SimpleNamespace(newest=lambda *_: record)),
    )
    return decision.unchanged(cast("Run", run), now, approved=(decision.digest_of(approved),))


@pytest.mark.parametrize("outcome", ["ok", "warning", "excused", "overridden", "failed", "unknown"])
def test_the_facts_hold_each_check_as_the_approver_saw_it(outcome: CheckOutcome) -> None:
    clusters = SimpleNamespace(cluster=lambda name: SimpleNamespace(cluster_id=name))
    run = SimpleNamespace(
        clients=SimpleNamespace(topology=clusters), source="east", target="west", epoch=3,
        group=SimpleNamespace(name="orders"), request=SimpleNamespace(verb="planned_failover"),
    )  # fmt: skip
    found = decision.common(cast("Run", run), [Check("lag_audit", outcome, "as it was")])
    assert found["check_outcomes"] == {"lag_audit": outcome}


@pytest.mark.parametrize(
    ("approved", "now", "holds"),
    [
        ("excused", "excused", True),
        ("excused", "ok", True),
        ("overridden", "ok", True),
        ("warning", "ok", True),
        ("ok", "warning", True),
        ("ok", "excused", False),
        ("warning", "excused", False),
        ("excused", "overridden", False),
        ("ok", "failed", False),
        ("excused", "unknown", False),
        ("failed", "ok", False),
    ],
)
def test_an_approval_covers_what_was_shown_and_what_became_good_since(approved: str, now: str, holds: bool) -> None:
    found = judged(facts(approved), facts(now))
    assert found.outcome == ("ok" if holds else "failed")
    if not holds:
        assert_sentence(found.detail)
        assert "route" not in found.detail


def test_a_source_that_fails_further_after_the_approval_stops_no_unplanned_failover() -> None:
    assert judged(facts("ok"), facts("excused"), verb="unplanned_failover").outcome == "ok"
    assert judged(facts("ok"), facts("excused"), verb="failback").outcome == "failed"
    for outcome in ("unknown", "failed", "overridden"):
        assert judged(facts("ok"), facts(outcome), verb="unplanned_failover").outcome == "failed"


def test_a_check_that_became_good_covers_no_other_change() -> None:
    assert judged(facts("excused", epoch=3), facts("ok", epoch=4)).outcome == "failed"
    assert judged(facts("excused"), {**facts("ok"), "check_outcomes": {"lag_audit": "ok"}}).outcome == "failed"


def test_evidence_that_is_not_what_was_approved_covers_nothing() -> None:
    assert judged(facts("ok"), facts("excused"), kept=facts("excused")).outcome == "failed"
