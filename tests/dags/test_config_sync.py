"""The edges and trigger rules of the config sync."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import TriggerRule


@pytest.fixture(scope="module")
def dag(bag: Any) -> Any:
    return bag.dags["dr_config_sync"]


def before(dag: Any, task_id: str) -> set[str]:
    """Return what a task waits for, other than for the list of groups that it is mapped over."""
    return set(dag.get_task(task_id).upstream_task_ids) - {"protection_groups"}


def test_each_group_has_its_own_tasks_which_do_not_wait_for_those_of_others(dag: Any) -> None:
    flow = dag.task_group.children["flow"]
    assert set(flow.children) == {"plan", "apply_safe", "standby_configured", "approval", "apply"}
    assert type(flow).__name__ == "MappedTaskGroup"
    assert dag.get_task("plan").upstream_task_ids == {"protection_groups"}


def test_people_are_asked_after_the_safe_changes_were_made(dag: Any) -> None:
    assert before(dag, "apply_safe") == {"plan"}
    assert before(dag, "approval") == {"apply_safe"}


def test_people_are_asked_about_the_other_changes_even_if_a_safe_change_failed(dag: Any) -> None:
    assert dag.get_task("approval").trigger_rule == TriggerRule.ALL_DONE


def test_nothing_that_needs_an_approval_is_changed_without_one(dag: Any) -> None:
    apply = dag.get_task("apply")
    assert before(dag, "apply") == {"approval"}
    assert apply.trigger_rule == TriggerRule.ALL_SUCCESS
    assert (apply.approved, dag.get_task("apply_safe").approved) == (True, False)


def test_the_standby_is_judged_even_if_a_change_failed_and_before_anybody_answers(dag: Any) -> None:
    verdict = dag.get_task("standby_configured")
    assert before(dag, "standby_configured") == {"apply_safe"}
    assert verdict.trigger_rule == TriggerRule.ALL_DONE


def test_a_change_is_never_tried_again_by_airflow(dag: Any) -> None:
    assert {task.task_id for task in dag.tasks if task.retries} == {"outcome"}, "it changes nothing"


@pytest.mark.parametrize("task_id", ["plan", "apply_safe", "approval", "apply", "standby_configured"])
def test_a_task_learns_its_group_when_it_runs(dag: Any, task_id: str) -> None:
    assert "protection_group" in dag.get_task(task_id).template_fields


def test_airflow_judges_the_run_by_its_last_task(dag: Any) -> None:
    assert [task.task_id for task in dag.leaves] == ["outcome"]
    assert before(dag, "outcome") == {"apply", "standby_configured"}
    assert dag.get_task("outcome").trigger_rule == TriggerRule.ALL_DONE
