"""What Airflow takes when somebody triggers a run: by its API, and by its forms in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)]

DAG_IDS = sorted(path.stem for path in (Path(__file__).parents[2] / "dags").glob("*.py"))
#: What each form cannot do without.
NEEDED: dict[str, dict[str, Any]] = {
    "dr_planned_failover": {"reason": "a test"},
    "dr_unplanned_failover": {"reason": "a test"},
    "dr_failback": {"reason": "a test"},
    "dr_resume": {"reason": "a test", "decision": "finish"},
}


@pytest.mark.usefixtures("unchanged")
def test_a_parameter_that_no_dag_has_ends_its_run_before_anything_else(alice: AirflowSession) -> None:
    runs = {dag: alice.trigger(dag, dryrun=True, **NEEDED.get(dag, {})) for dag in DAG_IDS}
    for dag, run in runs.items():
        assert alice.ended(dag, run, seconds=60) == "failed", dag
        states = alice.tasks(dag, run)
        (first,) = (task for task, state in states.items() if state == "failed")
        later = {task: state for task, state in states.items() if task not in (first, "roll_back")}
        assert set(later.values()) <= {"upstream_failed"}, (dag, states)
        log = alice.log(dag, run, first)
        assert f"{dag} was triggered with a parameter that it does not have: 'dryrun'" in log
    assert "did you mean 'dry_run'?" in alice.log("dr_planned_failover", runs["dr_planned_failover"], "preflight")


@pytest.mark.parametrize("wrong", ["true", 1, None])
def test_a_value_of_the_wrong_type_starts_no_run(alice: AirflowSession, wrong: object) -> None:
    asked = {"conf": {"reason": "a test", "dry_run": wrong}, "logical_date": None}
    reply = alice.http.post("/api/v2/dags/dr_planned_failover/dagRuns", json=asked)
    assert reply.status_code == 400
    assert "Invalid input for param dry_run" in reply.text
