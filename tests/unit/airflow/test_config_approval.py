"""The approval of a plan of the config sync, as far as it shows without an Airflow around it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_dr.approvals.approval import ApprovalQuestion
from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.people import Person
from kafka_dr.runs.request import RunRequest
from kafka_dr_airflow.operators.rounds import RedGroup
from kafka_dr_airflow.sensors.config_approval import ConfigApprovalSensor


@pytest.fixture
def approval() -> Any:
    row = RedGroup(protection_group="orders", outcome="ok", sentences=[], red=False, proposes=False, asks=True)
    return ConfigApprovalSensor(task_id="approval", row=row)


def test_it_is_about_the_group_that_the_task_is_mapped_to(approval: Any) -> None:
    assert approval.request({"run_id": "r1", "params": {}}) == RunRequest("orders", "r1")


def test_the_question_says_what_a_yes_does(approval: Any) -> None:
    at = datetime(2026, 11, 20, 3, 5, tzinfo=UTC)
    sheet = Sheet("Change?", "no", "nothing", "no", "nothing", "none", consequence="makes exactly these changes")
    asked = ("rows", "4f2a", (Person("alice", "alice"),), at, 900.0, "evidence", sheet)
    approval._prepare(ApprovalQuestion("Change?", *asked), page="/question")
    assert "*Approve* makes exactly these changes." in approval.body
