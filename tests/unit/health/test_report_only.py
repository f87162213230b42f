"""The route and the replication lag: judged, and never changed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict
from kafka_dr.health.report_only import judge_lag, judge_route
from kafka_dr.register import Phase
from kafka_dr.routing import Route
from support.register_states import AT, a_state


def test_a_route_has_to_lead_to_the_active_cluster() -> None:
    def leading_to(cluster: str) -> Route:
        return Route("orders", cluster, "localhost:1", 1, AT)

    assert judge_route(a_state(), leading_to("east")).outcome == "ok"
    assert judge_route(a_state(), leading_to("west")).outcome == "failed"
    assert judge_route(a_state(), None).outcome == "failed"
    assert judge_route(a_state(phase=Phase.SWITCHING), leading_to("west")).outcome == "failed"
    handing_over = a_state(phase=Phase.HANDED_OVER, active="west", standby="east")
    assert judge_route(handing_over, leading_to("east")).outcome == "ok"


@pytest.mark.parametrize(
    ("behind", "age", "phase", "outcome"),
    [
        (301.0, 60, Phase.STABLE, "failed"),
        (300.0, 60, Phase.STABLE, "ok"),
        (None, 60, Phase.STABLE, "ok"),
        (301.0, 901, Phase.STABLE, "ok"),
        (301.0, 60, Phase.SWITCHING, "ok"),
    ],
)
def test_a_long_replication_lag_proposes_the_planned_failover_and_no_other(
    behind: float | None, age: int, phase: Phase, outcome: str
) -> None:
    at, oldest = AT - timedelta(seconds=age), AT - timedelta(seconds=900)
    kept = AuditResult(AuditKind.LAG, "orders", "east", "west", 1, AuditVerdict.RED, at, "red", behind_seconds=behind)
    check = judge_lag(a_state(phase=phase), "west", kept, oldest=oldest, threshold=300)
    assert check.outcome == outcome
    assert ("dr_planned_failover can move orders as soon as" in check.detail) is (outcome == "failed")


def test_without_a_lag_audit_nothing_is_proposed() -> None:
    assert judge_lag(a_state(), "west", None, oldest=AT, threshold=300).outcome == "ok"
