"""The edges, trigger rules and retries of the unplanned failover that safety hangs on."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from airflow.sdk import TriggerRule

from kafka_dr.runs.request import UNPLANNED_FAILOVER
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.sensors.two_people import UnplannedApprovalSensor

STEPS = [str(step.name) for step in UNPLANNED_FAILOVER]
PEOPLE = ("approval", "second_approval")
ROLLED_BACK = {str(step.name) for step in UNPLANNED_FAILOVER if step.rolls_back}
FORWARD_ONLY = STEPS[STEPS.index("open_target") + 1 :]


@pytest.fixture
def unplanned(bag: Any) -> Any:
    return bag.dags["dr_unplanned_failover"]


def test_the_tasks_are_the_verbs_steps_and_the_roll_back(unplanned: Any) -> None:
    assert set(unplanned.task_ids) == {*STEPS, "roll_back", "outcome"}
    for definition in UNPLANNED_FAILOVER:
        task = unplanned.get_task(str(definition.name))
        assert isinstance(task, UnplannedApprovalSensor if definition.name in PEOPLE else FailoverStepOperator)
        assert task.task_display_name == f"{definition.number} {definition.name}"
        assert (task.verb, task.step) == ("unplanned_failover", str(definition.name))
    assert unplanned.get_task("roll_back").verb == "unplanned_failover"


@pytest.mark.parametrize(("before", "after"), list(pairwise(STEPS)))
def test_a_step_waits_for_the_success_of_the_one_before_it_and_of_nothing_else(
    unplanned: Any, before: str, after: str
) -> None:
    task = unplanned.get_task(after)
    assert task.upstream_task_ids == {before}
    assert task.trigger_rule == TriggerRule.ALL_SUCCESS


def test_roll_back_is_downstream_of_the_steps_that_it_can_undo_and_of_no_other(unplanned: Any) -> None:
    roll_back = unplanned.get_task("roll_back")
    assert roll_back.upstream_task_ids == ROLLED_BACK == set(STEPS[3:7])
    assert roll_back.trigger_rule == TriggerRule.ONE_FAILED
    assert unplanned.dagrun_timeout is None
    assert [task.task_id for task in unplanned.leaves] == ["outcome"]
    assert unplanned.get_task("outcome").upstream_task_ids == {"report", "roll_back"}
    assert unplanned.get_task("outcome").trigger_rule == TriggerRule.ALL_DONE


@pytest.mark.parametrize("name", STEPS[:6])
def test_a_failed_step_before_the_hand_over_is_rolled_back_at_once(unplanned: Any, name: str) -> None:
    assert unplanned.get_task(name).retries == 0


@pytest.mark.parametrize("name", FORWARD_ONLY)
def test_a_step_after_the_point_of_no_return_is_retried_without_losing_time(unplanned: Any, name: str) -> None:
    task = unplanned.get_task(name)
    assert task.retries == 3
    assert task.retry_delay <= timedelta(seconds=2)


def test_the_approvals_take_nothing_from_the_dag(unplanned: Any) -> None:
    for name in PEOPLE:
        approval = unplanned.get_task(name)
        assert (approval.assigned_users, approval.response_timeout, approval.execution_timeout) == (None, None, None)
        assert approval.fail_on_reject is False


def test_nothing_is_overridden_or_acknowledged_by_default(unplanned: Any) -> None:
    asked = {"protection_group", "source", "target", "override", "acknowledged", "dry_run", "reason"}
    assert set(unplanned.params) == asked
    assert (unplanned.params["override"], unplanned.params["acknowledged"], unplanned.params["dry_run"]) == (
        None,
        False,
        False,
    )
    assert unplanned.params.get_param("reason").schema["minLength"] == 3
