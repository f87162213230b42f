"""What the last checksum audit measured is compared with the objective; what was not measured lately is never good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.outcomes import Check
from kafka_dr.readiness_checks.verified_rpo import judge_rpo
from kafka_dr.watch_results import KeptResult, watched_group
from support.kept_metrics import NOON, kept
from support.sentences import assert_sentence


def judged(result: KeptResult | None, *, after: timedelta = timedelta(minutes=5)) -> Check:
    return judge_rpo(watched_group("orders", {"checksum": result}, NOON + after).of("checksum"), 60.0)


@pytest.mark.parametrize(("seconds", "outcome"), [(0.0, "ok"), (60, "ok"), (60.1, "warning")])
def test_more_than_the_objective_is_named(seconds: float, outcome: str) -> None:
    found = judged(kept("orders", "checksum", facts={"verified_rpo_seconds": seconds}))
    assert found.outcome == outcome
    assert_sentence(found.detail)


@pytest.mark.parametrize(
    "facts",
    [None, {}, {"verified_rpo_seconds": None}, {"verified_rpo_seconds": True}, {"verified_rpo_seconds": float("nan")}],
)
def test_nothing_measured_is_not_good(facts: dict[str, Any] | None) -> None:
    found = judged(kept("orders", "checksum", facts=facts) if facts is not None else None)
    assert found.outcome == "warning"
    assert_sentence(found.detail)


def test_what_was_measured_before_the_audits_stopped_is_not_good() -> None:
    found = judged(kept("orders", "checksum", facts={"verified_rpo_seconds": 2.0}), after=timedelta(days=90))
    assert found.outcome == "warning"
    assert_sentence(found.detail)


def test_what_an_audit_measured_that_could_not_look_at_everything_is_not_good() -> None:
    found = judged(kept("orders", "checksum", outcome="unknown", facts={"verified_rpo_seconds": 2.0}))
    assert found.outcome == "warning"
    assert_sentence(found.detail)
