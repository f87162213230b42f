"""What the last checksum audit measured is compared with the objective; nothing measured is never good."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.readiness_checks.verified_rpo import judge_rpo
from support.kept_metrics import kept


@pytest.mark.parametrize(("seconds", "outcome"), [(0.0, "ok"), (60, "ok"), (60.1, "warning")])
def test_more_than_the_objective_is_named(seconds: float, outcome: str) -> None:
    found = judge_rpo(kept("orders", "checksum", facts={"verified_rpo_seconds": seconds}), 60.0)
    assert found.outcome == outcome
    assert f"{seconds:,.1f} s, as compared at 2026-03-01 12:00 UTC" in found.detail


@pytest.mark.parametrize("facts", [None, {}, {"verified_rpo_seconds": None}, {"verified_rpo_seconds": True}])
def test_nothing_measured_is_not_good(facts: dict[str, Any] | None) -> None:
    found = judge_rpo(kept("orders", "checksum", facts=facts) if facts is not None else None, 60.0)
    assert found.outcome == "warning"
    assert "no checksum audit has measured" in found.detail
