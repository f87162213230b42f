"""Results of drills, as tests of rules need them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kafka_dr.drill import conduct
from kafka_dr.drill.result import DrillLeg, DrillResult
from kafka_dr.topology.drill import DrillSpec
from kafka_dr.topology.drill_group import id_at
from kafka_dr.topology.drill_rules import NOBODY
from kafka_dr.topology.objectives import Objectives

TUESDAY = datetime(2026, 11, 24, 10, 30, tzinfo=UTC)
SPEC = DrillSpec(principal="User:d", connections={"east": "a", "west": "b"}, approval="automatic", every_days=30)
OBJECTIVES = Objectives(rpo_seconds=60, rto_seconds=60, write_outage_seconds=5)


def leg(**values: Any) -> DrillLeg:
    usual: dict[str, Any] = {
        "verb": "planned_failover",
        "run": "r",
        "source": "east",
        "target": "west",
        "decided_at": TUESDAY,
        "rto_seconds": 9.0,
        "write_outage_seconds": 2.0,
        "rpo_seconds": 0.0,
        "acknowledged": 100,
        "lost": 0,
        "reordered": 0,
        "report": {"rto_seconds": 8.0},
    }
    return DrillLeg(**{**usual, **values})


def result(at: datetime = TUESDAY, *, passed: bool = True, kind: Any = "planned", stage: Any = "ended") -> DrillResult:
    return DrillResult(
        group="orders",
        id=id_at(at),
        kind=kind,
        active="east",
        standby="west",
        started_at=at,
        ended_at=at,
        passed=passed,
        why=() if passed else ("recovery 70 s, missed 60 s by 10 s",),
        approved_by=NOBODY,
        legs=(leg(),),
        objectives=conduct.judge([leg()], OBJECTIVES),
        stage=stage,
    )
