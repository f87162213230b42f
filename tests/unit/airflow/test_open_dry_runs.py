"""A dry run is on the status page from its first step on; a real run only when it asks somebody."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.watch_results import OpenRun, OpenRuns
from kafka_dr_airflow.operators import failover_step
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.open_runs import run_ended


@pytest.fixture(autouse=True)
def steps_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover_step, "perform", lambda *_: {})


def context(*, dry_run: bool) -> Any:
    ti = SimpleNamespace(run_id="manual__1", dag_id="dr_unplanned_failover")
    run = SimpleNamespace(triggering_user_name="alice", conf={})
    params = {"protection_group": "orders", "dry_run": dry_run, "reason": "a test"}
    return {"params": params, "run_id": "manual__1", "ti": ti, "dag_run": run}


def step(name: str, number: int, *, dry_run: bool = True) -> None:
    FailoverStepOperator(step=name, number=number, verb="unplanned_failover").execute(context(dry_run=dry_run))


def shown(root: Path) -> list[OpenRun]:
    return list(OpenRuns(root).read(datetime.now(UTC))[0])


def test_a_dry_run_is_shown_from_its_first_step_until_its_last_task(root: Path) -> None:
    step("gather_evidence", 1)
    (found,) = shown(root)
    assert (found.run, found.dag_id, found.dry_run) == ("manual__1", "dr_unplanned_failover", True)
    assert found.question == "A dry run of an unplanned failover: it changes nothing and asks nobody."
    run_ended(logging.getLogger(__name__), context(dry_run=True), "orders")
    assert shown(root) == []


def test_only_the_first_step_of_a_dry_run_begins_it(root: Path) -> None:
    step("gather_evidence", 1, dry_run=False)
    step("report", 11)
    assert shown(root) == []


def test_a_storage_that_takes_nothing_does_not_stop_a_dry_run(root: Path) -> None:
    root.mkdir()
    (root / "watches").write_text("a file where a folder belongs")
    step("gather_evidence", 1)
    assert (root / "watches").is_file()
