"""The edges, trigger rules and retries of the unplanned failover that safety hangs on."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from airflow.sdk import TriggerRule

from kafka_dr.runs.request import UNPLANNED_FAILOVER, switch_steps
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.switch import SwitchOperator
from kafka_dr_airflow.sensors.two_people import UnplannedApprovalSensor

NUMBERS = {str(step.name): step.number for step in UNPLANNED_FAILOVER}
IN_SWITCH = [str(name) for name in switch_steps("unplanned_failover")]
PEOPLE = ("approval", "second_approval")
TASKS = ["gather_evidence", *PEOPLE, "switch", "verify", "settle", "report"]
FORWARD_ONLY = TASKS[4:]


@pytest.fixture
def unplanned(bag: Any) -> Any:
    return bag.dags["dr_unplanned_failover"]


def test_the_tasks_are_the_verbs_steps_those_of_the_switch_in_one_and_the_roll_back(unplanned: Any) -> None:
    assert set(unplanned.task_ids) == {*TASKS, "roll_back", "outcome"}
    assert {*TASKS, *IN_SWITCH} == {*NUMBERS, "switch"}
    for name in (*TASKS[:3], *FORWARD_ONLY):
        task = unplanned.get_task(name)
        assert isinstance(task, UnplannedApprovalSensor if name in PEOPLE else FailoverStepOperator)
        assert task.task_display_name == f"{NUMBERS[name]} {name}"
        assert (task.verb, task.step) == ("unplanned_failover", name)
    switch = unplanned.get_task("switch")
    assert isinstance(switch, SwitchOperator)
    assert switch.task_display_name == f"{NUMBERS[IN_SWITCH[0]]}-{NUMBERS[IN_SWITCH[-1]]} switch"
    assert (switch.verb, unplanned.get_task("roll_back").verb) == ("unplanned_failover", "unplanned_failover")


@pytest.mark.parametrize(("before", "after"), list(pairwise(TASKS)))
def test_a_step_waits_for_the_success_of_the_one_before_it_and_of_nothing_else(
    unplanned: Any, before: str, after: str
) -> None:
    task = unplanned.get_task(after)
    assert task.upstream_task_ids == {before}
    assert task.trigger_rule == TriggerRule.ALL_SUCCESS


def test_roll_back_follows_a_failed_switch_what_finds_one_that_was_only_marked_and_the_last_step(
    unplanned: Any,
) -> None:
    roll_back = unplanned.get_task("roll_back")
    assert roll_back.upstream_task_ids == {"switch", "verify", "report"}
    assert {str(step.name) for step in UNPLANNED_FAILOVER if step.rolls_back} <= set(IN_SWITCH)
    assert roll_back.trigger_rule == TriggerRule.ONE_FAILED
    assert unplanned.dagrun_timeout is None
    assert [task.task_id for task in unplanned.leaves] == ["outcome"]
    assert unplanned.get_task("outcome").upstream_task_ids == {"report", "roll_back"}
    assert unplanned.get_task("outcome").trigger_rule == TriggerRule.ALL_DONE


def test_evidence_is_not_gathered_again(unplanned: Any) -> None:
    assert unplanned.get_task("gather_evidence").retries == 0


@pytest.mark.parametrize("name", ["switch", *FORWARD_ONLY])
def test_what_may_be_past_the_point_of_no_return_is_retried_without_losing_time(unplanned: Any, name: str) -> None:
    task = unplanned.get_task(name)
    assert task.retries == 3
    assert task.retry_delay <= timedelta(seconds=2)


def test_the_approvals_take_nothing_from_the_dag(unplanned: Any) -> None:
    for name in PEOPLE:
        approval = unplanned.get_task(name)
        assert (approval.assigned_users, approval.response_timeout, approval.execution_timeout) == (None, None, None)
        assert approval.fail_on_reject is False


def test_nothing_is_overridden_or_acknowledged_by_default(unplanned: Any) -> None:
    asked = {
        "protection_group",
        "source",
        "target",
        "begin_at",
        "begin_positions",
        "override",
        "acknowledged",
        "dry_run",
        "reason",
    }
    assert set(unplanned.params) == asked
    assert (unplanned.params["override"], unplanned.params["acknowledged"], unplanned.params["dry_run"]) == (
        None,
        False,
        False,
    )
    assert unplanned.params.get_param("reason").schema["minLength"] == 3
