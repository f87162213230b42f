"""What closes the doors that Airflow's own approval leaves open, as far as it shows without an Airflow around it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_dr.approvals.approval import ApprovalQuestion
from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.people import Person
from kafka_dr_airflow.sensors.kept_answer import kept_answer
from kafka_dr_airflow.sensors.manual_approval import REASON, ManualApprovalSensor, given_answer

AT = datetime(2026, 11, 20, 3, 5, tzinfo=UTC)
YES: dict[str, Any] = {
    "chosen_options": ["Approve"],
    "params_input": {REASON: "go"},
    "responded_at": AT,
    "responded_by_user": {"id": "alice", "name": "Alice"},
}


@pytest.fixture
def approval() -> ManualApprovalSensor:
    return ManualApprovalSensor(number=2)


@pytest.fixture
def context() -> dict[str, Any]:
    return {
        "params": {"protection_group": "orders"},
        "run_id": "r1",
        "ti": SimpleNamespace(dag_id="dr_planned_failover", try_number=1, max_tries=0),
    }


def question(**changes: Any) -> ApprovalQuestion:
    fields = {
        "subject": "Move orders?",
        "body": "facts",
        "digest": "4f2a",
        "approvers": (Person("alice", "1"), Person("bob", "7")),
        "expires_at": AT,
        "expires_after_seconds": 900.0,
        "evidence": "runs/orders/r1/02-approval.1.json",
        "sheet": Sheet("Move orders?", "orders", "nothing", "no", "nothing", "nothing", words=(("Reason", "routine"),)),
    }
    return ApprovalQuestion(**{**fields, **changes})


@pytest.mark.parametrize(
    "name", ["execution_timeout", "response_timeout", "assigned_users", "defaults", "subject", "body"]
)
def test_what_is_decided_when_the_question_is_asked_cannot_be_set_in_the_dag(name: str) -> None:
    passed: dict[str, Any] = {name: "anything"}
    with pytest.raises(ValueError, match=f"{name} of an approval is decided when the question is asked"):
        ManualApprovalSensor(number=2, **passed)


@pytest.mark.filterwarnings("ignore:Passing `execution_timeout`")
@pytest.mark.parametrize("name", ["execution_timeout", "response_timeout"])
def test_an_expiry_does_not_come_in_by_default_args(name: str) -> None:
    with pytest.raises(ValueError, match="default_args set the expiry or the approvers"):
        ManualApprovalSensor(number=2, default_args={name: timedelta(minutes=5)})


def test_it_asks_the_approvers_for_the_time_that_the_topology_gives(approval: Any) -> None:
    approval._prepare(question(), page="/question")
    assert approval.assigned_users == [{"id": "1", "name": "alice"}, {"id": "7", "name": "bob"}]
    assert approval.response_timeout.total_seconds() == 900
    assert approval.defaults is None
    assert approval.body.startswith("* **What moves**: orders.")
    assert "[Read all of it, and answer](/question)" in approval.body
    assert "Only `alice` or `bob` may answer" in approval.body


def test_what_people_wrote_comes_after_everything_else(approval: Any) -> None:
    approval._prepare(question(name="4f2a"), page="/question")
    assert approval.body.endswith("Question `4f2a`\n\n**Reason**\n\n```text\nroutine\n```")


def test_the_form_has_no_field_but_the_remark(approval: Any) -> None:
    approval._prepare(question(), page="/question")
    assert {name: each["value"] for name, each in approval.serialized_params.items()} == {REASON: None}


def test_without_approvers_nobody_is_asked(approval: Any) -> None:
    with pytest.raises(AirflowFailException, match="no approvers"):
        approval._prepare(question(approvers=()), page="/question")


def test_no_answer_in_time_ends_the_run_says_where_to_start_a_new_one_and_is_kept(
    approval: Any, context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(Path(__file__).parents[3] / "include" / "topology.yaml"))
    monkeypatch.setenv("KAFKA_DR_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_DR_LAB_EAST", "127.0.0.1:1")
    monkeypatch.setenv("KAFKA_DR_LAB_WEST", "127.0.0.1:2")
    monkeypatch.setenv("KAFKA_DR_LAB_VANTAGE", "127.0.0.1:3")
    signing = json.dumps({"conn_type": "generic", "extra": {"private_key": SigningKey.generate().private_pem}})
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DR_SIGNING", signing)
    for cluster in ("EAST", "WEST"):
        silent = {"conn_type": "kafka", "extra": {"bootstrap.servers": "127.0.0.1:1"}}
        monkeypatch.setenv(f"AIRFLOW_CONN_KAFKA_{cluster}_OPERATOR", json.dumps(silent))
    monkeypatch.setattr("kafka_dr.runs.sealing._REGISTER_SECONDS", 0.1)
    late = {"error": "The response timeout has passed", "error_type": "timeout"}
    with pytest.raises(AirflowSkipException, match=r"Nobody answered .* Nothing was changed\. A new run: .*/dags/dr_p"):
        approval.execute_complete(context, late)
    kept = (tmp_path / "evidence" / "runs" / "orders" / "r1" / "02-approval.1.json").read_text()
    assert "nobody answered before the approval expired" in kept


def test_another_error_of_the_wait_is_a_failure(approval: Any, context: Any) -> None:
    with pytest.raises(SystemExit, match="could not wait for the answer"):
        approval.execute_complete(context, {"error": "lost", "error_type": "unknown"})


def test_an_answer_is_read_with_who_gave_it_and_to_what() -> None:
    answer = given_answer(YES, approve="Approve")
    assert (answer.approved, answer.responder, answer.person, answer.responded_at) == (True, "Alice", "alice", AT)
    assert answer.reason == "go"


@pytest.mark.parametrize("chosen", [[], ["Reject"], ["Approve", "Reject"], ["approve"]])
def test_only_a_plain_yes_is_a_yes(chosen: list[str]) -> None:
    assert given_answer({**YES, "chosen_options": chosen}, approve="Approve").approved is False


def test_no_answer_says_itself_which_facts_it_is_about() -> None:
    assert given_answer({**YES, "params_input": {"digest": "4f2a"}}, approve="Approve").digest == ""


def test_an_answer_that_names_nobody_is_nobodys() -> None:
    assert given_answer({**YES, "responded_by_user": None}, approve="Approve").responder == "nobody named"


def test_without_the_connection_to_airflows_api_a_later_try_says_so() -> None:
    ti = SimpleNamespace(dag_id="d", run_id="r", task_id="approval", map_index=-1, try_number=2)
    assert kept_answer(ti) == (
        "Airflow has no connection kafka_dr_airflow_api, with which this task would look for its answer"
    )
