"""The edges, trigger rules and forms of the failback that safety hangs on."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from airflow.sdk import TriggerRule

from kafka_dr.runs.request import FAILBACK
from kafka_dr_airflow.operators.failback import FailbackAuditOperator, StrandedRecordsOperator
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.sensors.two_people import FailbackApprovalSensor

STEPS = [str(step.name) for step in FAILBACK]
PEOPLE = ("approval", "second_approval")
#: In the order in which they have to run.
CHAIN = ["stranded_records", *STEPS[: STEPS.index("settle")], "checksum_audit", "settle", "report"]


@pytest.fixture
def failback(bag: Any) -> Any:
    return bag.dags["dr_failback"]


def test_the_tasks_are_the_verbs_steps_and_what_spark_does(failback: Any) -> None:
    assert set(failback.task_ids) == {*CHAIN, "outcome"}
    assert [task.task_id for task in failback.leaves] == ["outcome"]
    assert failback.get_task("outcome").trigger_rule == TriggerRule.ALL_DONE
    for definition in FAILBACK:
        task = failback.get_task(str(definition.name))
        assert isinstance(task, FailbackApprovalSensor if definition.name in PEOPLE else FailoverStepOperator)
        assert task.task_display_name == f"{definition.number} {definition.name}"
        assert (task.verb, task.step) == ("failback", str(definition.name))
    assert isinstance(failback.get_task("stranded_records"), StrandedRecordsOperator)
    assert isinstance(failback.get_task("checksum_audit"), FailbackAuditOperator)


@pytest.mark.parametrize(("before", "after"), list(pairwise(CHAIN)))
def test_a_task_waits_for_the_success_of_the_one_before_it_and_of_nothing_else(
    failback: Any, before: str, after: str
) -> None:
    task = failback.get_task(after)
    assert task.upstream_task_ids == {before}
    assert task.trigger_rule == TriggerRule.ALL_SUCCESS


def test_nothing_is_tried_again_before_it_is_claimed_and_everything_after_that_is(failback: Any) -> None:
    for name in {*CHAIN[: CHAIN.index("claim") + 1]} - {"approval", "second_approval"}:
        assert failback.get_task(name).retries == 0
    for name in ("rescue", "prepare_old_cluster", "reverse_flow", "catch_up", "settle", "report"):
        assert failback.get_task(name).retries == 3


def test_no_timeout_of_the_run_ends_a_copy_that_still_moves(failback: Any) -> None:
    assert failback.dagrun_timeout is None


def test_the_mode_that_deletes_nothing_is_the_default_and_a_dry_run_is_offered(failback: Any) -> None:
    assert set(failback.params) == {"protection_group", "target", "mode", "rescue", "late", "dry_run", "reason"}
    assert (failback.params["mode"], failback.params["rescue"]) == ("quarantine", "keep")
    assert failback.params["dry_run"] is False
    assert set(failback.params.get_param("mode").schema["enum"]) == {"quarantine", "rebuild"}


@pytest.mark.parametrize("name", PEOPLE)
def test_the_approvals_take_nothing_from_the_dag(failback: Any, name: str) -> None:
    approval = failback.get_task(name)
    assert approval.assigned_users is None
    assert approval.response_timeout is None
    assert approval.execution_timeout is None
    assert approval.fail_on_reject is False


def test_the_audit_compares_everything(failback: Any) -> None:
    assert failback.get_task("checksum_audit").arguments({}) == ["--full"]
