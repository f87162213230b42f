"""The edges, trigger rules and retries of the planned failover that safety hangs on."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import TriggerRule, WeightRule

from kafka_dr.runs.request import PLANNED_FAILOVER, switch_steps
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.operators.roll_back import RollBackOperator
from kafka_dr_airflow.operators.switch import SwitchOperator
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor

NUMBERS = {str(step.name): step.number for step in PLANNED_FAILOVER}
IN_SWITCH = [str(name) for name in switch_steps("planned_failover")]
TASKS = ["preflight", "approval", "switch", "verify", "start_reverse_flow", "report"]
FORWARD_ONLY = TASKS[3:]


def test_the_tasks_are_the_verbs_steps_those_of_the_switch_in_one_and_the_roll_back(planned: Any) -> None:
    assert set(planned.task_ids) == {*TASKS, "roll_back", "outcome"}
    assert {*TASKS, *IN_SWITCH} == {*NUMBERS, "switch"}
    for name in (*TASKS[:2], *FORWARD_ONLY):
        task = planned.get_task(name)
        assert isinstance(task, ManualApprovalSensor if name == "approval" else FailoverStepOperator)
        assert task.task_display_name == f"{NUMBERS[name]} {name}"
        assert task.verb == "planned_failover"
        assert getattr(task, "step", "approval") == name
    switch = planned.get_task("switch")
    assert isinstance(switch, SwitchOperator)
    assert switch.verb == "planned_failover"
    assert switch.task_display_name == f"{NUMBERS[IN_SWITCH[0]]}-{NUMBERS[IN_SWITCH[-1]]} switch"
    assert isinstance(planned.get_task("roll_back"), RollBackOperator)


@pytest.mark.parametrize(("before", "after"), list(pairwise(TASKS)))
def test_a_step_waits_for_the_success_of_the_one_before_it_and_of_nothing_else(
    planned: Any, before: str, after: str
) -> None:
    task = planned.get_task(after)
    assert task.upstream_task_ids == {before}
    assert task.trigger_rule == TriggerRule.ALL_SUCCESS


def test_nothing_comes_before_preflight(planned: Any) -> None:
    assert planned.get_task("preflight").upstream_task_ids == set()


def test_nothing_is_claimed_before_somebody_has_approved(planned: Any) -> None:
    assert planned.get_task("approval").downstream_task_ids == {"switch"}
    assert planned.get_task("preflight").downstream_task_ids == {"approval"}


def test_roll_back_follows_a_failed_switch_what_finds_one_that_was_only_marked_and_the_last_step(planned: Any) -> None:
    roll_back = planned.get_task("roll_back")
    assert roll_back.upstream_task_ids == {"switch", "verify", "report"}
    assert {str(step.name) for step in PLANNED_FAILOVER if step.rolls_back} <= set(IN_SWITCH)
    assert roll_back.trigger_rule == TriggerRule.ONE_FAILED
    assert roll_back.downstream_task_ids == {"outcome"}


def test_airflow_judges_the_run_by_its_last_task_however_the_others_ended(planned: Any) -> None:
    assert [task.task_id for task in planned.leaves] == ["outcome"]
    outcome = planned.get_task("outcome")
    assert isinstance(outcome, OutcomeOperator)
    assert outcome.upstream_task_ids == {"report", "roll_back"}
    assert outcome.trigger_rule == TriggerRule.ALL_DONE
    assert outcome.retries, "what cannot be judged now is judged again; a verdict is final"


def test_no_timeout_of_the_run_can_skip_the_roll_back(planned: Any) -> None:
    assert planned.dagrun_timeout is None


def test_another_group_can_be_moved_at_the_same_time(planned: Any) -> None:
    assert planned.max_active_runs > 1
    assert all(task.max_active_tis_per_dag is None for task in planned.tasks)


def test_a_preflight_is_not_tried_again(planned: Any) -> None:
    assert planned.get_task("preflight").retries == 0


def test_every_approval_of_every_verb_is_tried_again_at_once_after_an_answer_that_airflow_did_not_expect(
    bag: Any,
) -> None:
    found = [(dag.dag_id, task) for dag in bag.dags.values() for task in dag.tasks if isinstance(task, HITLOperator)]
    assert {(dag, task.task_id) for dag, task in found} == {
        ("dr_adopt", "approval"),
        ("dr_config_sync", "approval"),
        ("dr_failback", "approval"),
        ("dr_failback", "second_approval"),
        ("dr_planned_failover", "approval"),
        ("dr_un_adopt", "approval"),
        ("dr_unplanned_failover", "approval"),
        ("dr_unplanned_failover", "second_approval"),
    }
    for _, task in found:
        assert isinstance(task, ManualApprovalSensor)
        assert (task.retries, task.retry_delay, task.step) == (3, timedelta(seconds=1), task.task_id)


def test_a_switch_is_tried_again_without_losing_time(planned: Any) -> None:
    """Only after the hand-over: a failure before it is final, see the unit tests of the operator."""
    task = planned.get_task("switch")
    assert task.retries == 3
    assert task.retry_delay <= timedelta(seconds=2)
    assert task.execution_timeout is not None


@pytest.mark.parametrize("name", FORWARD_ONLY)
def test_a_step_after_the_point_of_no_return_is_retried(planned: Any, name: str) -> None:
    task = planned.get_task(name)
    assert task.retries == 3
    assert task.retry_delay == timedelta(seconds=5)


def test_roll_back_does_not_give_up_soon(planned: Any) -> None:
    assert planned.get_task("roll_back").retries == 5


def test_a_failover_waits_for_no_other_task(planned: Any, bag: Any) -> None:
    others = [task for dag_id in ("dr_canary", "dr_flows", "dr_health") for task in bag.dags[dag_id].tasks]
    for task in planned.tasks:
        assert task.weight_rule == WeightRule.ABSOLUTE
        assert task.priority_weight > max(other.priority_weight for other in others)


def test_the_approval_takes_nothing_from_the_dag(planned: Any) -> None:
    approval = planned.get_task("approval")
    assert approval.assigned_users is None
    assert approval.response_timeout is None
    assert approval.execution_timeout is None
    assert approval.defaults is None
    assert approval.fail_on_reject is False
    assert approval.ignore_downstream_trigger_rules is False


def test_a_reason_is_asked_for_and_a_dry_run_is_offered(planned: Any) -> None:
    assert set(planned.params) == {
        "protection_group",
        "source",
        "target",
        "begin_at",
        "begin_positions",
        "dry_run",
        "reason",
    }
    assert planned.params["dry_run"] is False
    assert planned.params.get_param("reason").schema["minLength"] == 3
