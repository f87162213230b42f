"""Whoever can write the evidence, or mark a task as done, gets no approval by it: only the register counts."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.approvals.approval import journal_now, record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.errors import Refused
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from support.protection import Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


@pytest.fixture
def own_group(protection: Protection) -> SwitchedGroup:
    """Return a stable group."""
    return SwitchedGroup.adopt(protection)


def test_only_an_answer_in_the_register_lets_a_run_claim_and_only_once(own_group: SwitchedGroup) -> None:
    request = own_group.request()
    with own_group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        question = ask_approval(request, clients)
    # Somebody marks the approval as done.
    assert "has no answer to approval of run" in _refused(own_group, request).detail
    # Somebody writes the answer that the task would have written.
    answer = Answer(True, "alice", datetime.now(UTC), question.digest)
    _forge(own_group, request, answer)
    assert "has no answer to approval of run" in _refused(own_group, request).detail
    # The same id is approved for something else.
    other = replace(request, verb="failback")
    with own_group.protection.clients() as clients, pytest.raises(StepFailed, match="has no question of run"):
        record_answer(replace(other, run="elsewhere"), clients, answer)

    with own_group.protection.clients() as clients:
        record_answer(request, clients, answer)
        with pytest.raises(StepFailed, match="alice has approved this question"):
            record_answer(request, clients, replace(answer, approved=False))
        run_step(StepName.CLAIM, request, clients)
        roll_back(request, clients)
    own_group.roll_back(own_group.go(StepName.CLAIM))
    # It holds no group any more: the answer that it used does not let it claim again.
    again = _refused(own_group, request)
    assert "answer_not_used" in [check.name for check in again.checks if check.outcome == "failed"]
    assert "has claimed the group with its answers before" in again.detail


def test_an_answer_is_about_the_facts_of_its_question_whatever_was_found_since(own_group: SwitchedGroup) -> None:
    request = own_group.request()
    yes = Answer(True, "alice", datetime.now(UTC), "")
    with own_group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        question = ask_approval(request, clients, asked_by="instance-1")
        # The facts change, and the evidence has the new ones before the old question is answered.
        for cluster in ("east", "west"):
            with own_group.protection.cluster(cluster, "admin") as admin:
                admin.topics.create(f"{own_group.name}.added", partitions=1, replication_factor=1, config={})
        seen = run_step(StepName.PREFLIGHT, request, clients)
        assert seen.facts["digest"] != question.digest
        record_answer(request, clients, yes, to="instance-1")
    refused = _refused(own_group, request)
    assert "the approval is superseded; trigger a new run" in refused.detail


@pytest.mark.parametrize("approved", [True, False])
def test_an_answer_to_an_older_question_of_a_run_says_nothing_about_the_newer_one(
    own_group: SwitchedGroup, approved: bool
) -> None:
    request = own_group.request()
    answer = Answer(approved, "alice", datetime.now(UTC), "")
    with own_group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        older = ask_approval(request, clients, asked_by="instance-1")
        newer = ask_approval(request, clients, asked_by="instance-2")
        assert older.digest == newer.digest, "the same facts, asked twice"
        for to in ("instance-1", older.name, "", "instance-3"):
            with pytest.raises(StepFailed, match="to another question than the newest one of this run"):
                record_answer(request, clients, answer, to=to)
        assert journal_now(request, clients).answered(StepName.APPROVAL) is None
        record_answer(request, clients, answer, to=newer.name)
        found = journal_now(request, clients).answered(StepName.APPROVAL)
    assert found is not None
    assert (found.approved, found.digest, found.attempt) == (approved, newer.digest, 2)


def test_a_question_is_not_made_from_facts_that_were_changed(own_group: SwitchedGroup) -> None:
    request = own_group.request()
    with own_group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
    (file,) = _folder(own_group, request).glob("01-preflight.1.json")
    kept = json.loads(file.read_text())
    decided = kept["facts"]["decision"]
    decided["check_outcomes"] = dict.fromkeys(decided["check_outcomes"], "ok")
    kept["facts"]["decision"]["epoch"] += 1
    file.write_text(json.dumps(kept))
    with own_group.protection.clients() as clients, pytest.raises(Refused, match="was changed"):
        ask_approval(request, clients)


def test_an_id_that_the_registers_know_is_no_id_of_a_new_run(own_group: SwitchedGroup) -> None:
    request = own_group.go(StepName.CLAIM)
    own_group.roll_back(request)
    own_group.roll_back(own_group.go(StepName.CLAIM))
    with own_group.protection.clients() as clients:
        record = failed(StepName.PREFLIGHT, request, clients)
    assert record.outcome == "refused"
    assert "it is a planned failover that has claimed the group" in record.detail


def test_where_four_eyes_are_the_rule_nobody_approves_a_run_of_their_own(own_group: SwitchedGroup) -> None:
    own_group.protection.changes["requester_may_approve"] = False
    request = replace(own_group.request(), requester="alice")
    with own_group.protection.clients() as clients:
        preflight = run_step(StepName.PREFLIGHT, request, clients)
        question = ask_approval(request, clients)
        said = {check.name: check.detail for check in preflight.checks}["approvers"]
        assert said == "1 of 1 people have to approve, who could now: bob"
        own = Answer(True, "alice", datetime.now(UTC), question.digest)
        with pytest.raises(StepFailed, match="alice, who triggered the run and may not approve it"):
            record_answer(request, clients, own)
        record_answer(request, clients, replace(own, responder="bob"))
        claimed = run_step(StepName.CLAIM, request, clients)
        roll_back(request, clients)
        journaled = clients.register(own_group.standby).facts(own_group.name, request.run)["claim"]
    checks = {check.name: check.detail for check in claimed.checks}
    assert checks["requester_may_approve"] == "alice triggered the run, and bob approved it"
    assert (journaled["requested_by"], journaled["approved_by"]) == ("alice", "bob")


def _folder(group: SwitchedGroup, request: RunRequest) -> Path:
    return Path(group.protection.folder) / "evidence" / "runs" / group.name / request.run


def _forge(group: SwitchedGroup, request: RunRequest, answer: Answer) -> None:
    """Write the evidence of an answer, as the approval's task does, but no register."""
    asked = json.loads((_folder(group, request) / "02-approval.1.json").read_text())
    forged = {**asked, "detail": "approved by alice", "facts": {"answer": answer.to_json()}}
    (_folder(group, request) / "02-approval.2.json").write_text(json.dumps(forged))


def _refused(group: SwitchedGroup, request: RunRequest) -> StepRecord:
    with group.protection.clients() as clients:
        record = failed(StepName.CLAIM, request, clients)
    assert record.outcome == "refused"
    return record
