"""The edges and trigger rules of the config sync."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import TriggerRule


@pytest.fixture(scope="module")
def dag(bag: Any) -> Any:
    return bag.dags["dr_config_sync"]


def test_one_task_looks_at_every_group_and_only_questions_have_tasks_for_a_group(dag: Any) -> None:
    ask = dag.task_group.children["ask"]
    assert set(ask.children) == {"approval", "apply"}
    assert type(ask).__name__ == "MappedTaskGroup"
    assert dag.get_task("look").upstream_task_ids == set()


def test_people_are_asked_after_the_safe_changes_were_made(dag: Any) -> None:
    assert dag.get_task("approval").upstream_task_ids == {"look"}


def test_nothing_that_needs_an_approval_is_changed_without_one(dag: Any) -> None:
    apply = dag.get_task("apply")
    assert apply.upstream_task_ids - {"look"} == {"approval"}
    assert apply.trigger_rule == TriggerRule.ALL_SUCCESS


def test_a_red_group_has_its_line_before_anybody_answers(dag: Any) -> None:
    assert dag.get_task("red").upstream_task_ids == {"look"}


def test_a_change_is_never_tried_again_by_airflow(dag: Any) -> None:
    assert {task.task_id for task in dag.tasks if task.retries} == {"approval", "outcome"}, "they change nothing"


@pytest.mark.parametrize("task_id", ["approval", "apply"])
def test_a_task_learns_its_group_when_it_runs(dag: Any, task_id: str) -> None:
    assert "row" in dag.get_task(task_id).template_fields


def test_airflow_judges_the_run_by_its_last_task(dag: Any) -> None:
    assert [task.task_id for task in dag.leaves] == ["outcome"]
    assert dag.get_task("outcome").trigger_rule == TriggerRule.ALL_DONE
