"""The edges and trigger rules of an adoption and of a release that safety hangs on."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from airflow.sdk import TriggerRule

from kafka_dr.runs.request import UN_ADOPT, switch_steps
from kafka_dr_airflow.sensors.adoption import ReleaseApprovalSensor, TakeOverApprovalSensor

#: In the order in which they have to run.
TAKE_OVER = ["plan", "audit", "preflight", "approval", "take_over", "report"]
RELEASE = [str(step.name) for step in UN_ADOPT]


@pytest.fixture
def adoption(bag: Any) -> Any:
    return bag.dags["dr_adopt"]


@pytest.fixture
def release(bag: Any) -> Any:
    return bag.dags["dr_un_adopt"]


def test_a_group_is_adopted_or_what_replicates_it_is_taken_over(adoption: Any) -> None:
    plan = adoption.get_task("plan")
    assert plan.downstream_task_ids == {"adopt", "audit", "outcome"}
    # Airflow skips the direct followers that are not named, so a first adoption is judged by its own task.
    assert plan.ways == {"adopt": ["adopt"], "take_over": ["audit"]}
    assert {task.task_id for task in adoption.leaves} == {"adopt", "outcome"}
    assert adoption.get_task("adopt").upstream_task_ids == {"plan"}


@pytest.mark.parametrize(("before", "after"), list(pairwise(TAKE_OVER)))
def test_a_take_over_waits_for_the_success_of_the_task_before(adoption: Any, before: str, after: str) -> None:
    task = adoption.get_task(after)
    assert task.upstream_task_ids == {before}
    assert task.trigger_rule == TriggerRule.ALL_SUCCESS
    assert isinstance(adoption.get_task("approval"), TakeOverApprovalSensor)


def test_whatever_fails_after_the_approval_is_given_back(adoption: Any) -> None:
    give_back = adoption.get_task("give_back")
    assert give_back.upstream_task_ids == {"take_over", "report"}
    assert give_back.trigger_rule == TriggerRule.ONE_FAILED
    assert (give_back.verb, give_back.retries) == ("take_over", 5)
    outcome = adoption.get_task("outcome")
    assert outcome.upstream_task_ids == {"plan", "report", "give_back"}
    assert outcome.trigger_rule == TriggerRule.ALL_DONE


def test_the_numbers_are_those_of_the_steps(adoption: Any) -> None:
    shown = {task.task_id: task.task_display_name for task in adoption.tasks}
    assert shown["take_over"] == f"3-{2 + len(switch_steps('take_over'))} take_over"
    assert [shown[name] for name in ("preflight", "approval", "report")] == ["1 preflight", "2 approval", "8 report"]


@pytest.mark.parametrize(("before", "after"), list(pairwise(RELEASE)))
def test_a_release_waits_for_the_success_of_the_task_before(release: Any, before: str, after: str) -> None:
    task = release.get_task(after)
    assert task.upstream_task_ids == {before}
    assert task.trigger_rule == TriggerRule.ALL_SUCCESS


def test_a_release_has_every_step_of_its_verb_and_only_goes_forward_after_its_claim(release: Any) -> None:
    assert set(release.task_ids) == {*RELEASE, "outcome"}
    assert isinstance(release.get_task("approval"), ReleaseApprovalSensor)
    assert {name: release.get_task(name).retries for name in RELEASE} == {
        name: 3 if name == "approval" or RELEASE.index(name) > RELEASE.index("claim") else 0 for name in RELEASE
    }


def test_neither_run_is_ended_by_a_timeout(adoption: Any, release: Any) -> None:
    assert (adoption.dagrun_timeout, release.dagrun_timeout) == (None, None)
