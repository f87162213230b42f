"""When a proposed run counts as one that has asked somebody."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from kafka_dr_airflow.operators.proposed_failover import was_asked


@pytest.mark.parametrize("state", [None, "upstream_failed", "removed", "skipped"])
def test_a_run_that_ended_before_it_asked_has_asked_nobody(state: str | None) -> None:
    assert not was_asked(state)


@pytest.mark.parametrize("state", ["awaiting_input", "success", "failed", "running"])
def test_a_run_that_waits_or_was_answered_has_asked(state: str) -> None:
    assert was_asked(state)
