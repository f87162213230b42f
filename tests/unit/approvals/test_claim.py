"""The claim of every verb: whose answers permit it, and that nothing is changed without them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.approvals.claim import GROUNDS, ClaimStep
from kafka_dr.approvals.decision import digest_of
from kafka_dr.approvals.journaled import BY_NOBODY, Answer, AskedQuestion, journal_of
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.people import Person
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import failback_begun
from kafka_dr.runs.request import FailbackMode, RunRequest, StepName
from kafka_dr.runs.run import Run
from support.failing_storage import StoredClients
from support.manual_clock import ManualClock
from support.register_states import a_state

FIRST, SECOND = StepName.APPROVAL, StepName.SECOND_APPROVAL
FACTS = {"group": "orders", "mode": "rebuild"}
LEFT = a_state(epoch=1000, phase=Phase.DIVERGED, active="west", standby="east", verb="unplanned_failover", run="lost")
PEOPLE = (Person("alice", "1"), Person("bob", "2"))


def begun(run: Run, signed: dict[str, Any]) -> RegisterState:
    return failback_begun(run.record(), **signed)


CLAIM = ClaimStep(says=lambda _: ("claim",), decided=lambda _: FACTS, begun=begun, facts=lambda _run, _answers: {})


@pytest.fixture
def clients(tmp_path: Path) -> StoredClients:
    reached = StoredClients(tmp_path)
    for register in reached.registers.values():
        register.compare_and_set(None, LEFT)
    return reached


def a_run(clients: StoredClients, mode: FailbackMode = "rebuild") -> Run:
    return Run(RunRequest("orders", "home", source="west", target="east", verb="failback", mode=mode), clients)


def approve(clients: StoredClients, *people: str, verified: str = "Airflow") -> None:
    """Let each person answer the next of the approvals."""
    journal, now = journal_of(a_run(clients)), clients.clock.now()
    question = AskedQuestion("", 0, "shown", digest_of(FACTS), now, now + timedelta(minutes=15), PEOPLE)
    for step, name in zip((FIRST, SECOND), people, strict=False):
        answer = Answer(True, name, now, digest_of(FACTS), verified=verified)
        journal.answer(answer, journal.ask(replace(question, digest=f"shown {step}"), step), step)


def changed(clients: StoredClients) -> bool:
    """Return whether a claim has written anything."""
    registers = clients.registers.values()
    return any(each.read("orders") != LEFT or GROUNDS in each.facts("orders", "home") for each in registers)


def forbids(run: Run) -> set[str]:
    return {check.name for check in CLAIM.check(run) if not check.passes}


def test_what_deletes_data_is_claimed_with_the_answers_of_two_people(clients: StoredClients) -> None:
    approve(clients, "alice", "bob")
    assert forbids(a_run(clients)) == set()
    CLAIM.act(a_run(clients))
    state = clients.registers["west"].read("orders")
    assert state is not None
    assert (state.run, state.verb, state.approved_by) == ("home", "failback", "alice, bob")
    assert clients.registers["east"].read("orders") == state
    assert len(clients.registers["west"].facts("orders", "home")[GROUNDS]["answers"]) == 2
    assert {check.outcome for check in CLAIM.prove(a_run(clients))} == {"ok"}


@pytest.mark.parametrize("people", [(), ("alice",)])
def test_an_answer_that_is_missing_permits_nothing_even_if_the_step_acts_all_the_same(
    clients: StoredClients, people: tuple[str, ...]
) -> None:
    approve(clients, *people)
    assert forbids(a_run(clients)) == {"approved"}
    with pytest.raises(NeedsPerson, match="is gone now"):
        CLAIM.act(a_run(clients))
    assert not changed(clients)


def test_one_person_who_answers_twice_is_one_person(clients: StoredClients) -> None:
    approve(clients, "alice", "alice")
    assert forbids(a_run(clients)) == {"approvers_differ"}


def test_nobody_breaks_the_glass_to_delete_data(clients: StoredClients) -> None:
    approve(clients, "alice", "bob", verified=BY_NOBODY)
    assert forbids(a_run(clients)) == {"responder_is_verified"}
    assert forbids(a_run(clients, mode="quarantine")) == set()


def test_an_approval_that_expires_after_the_check_changes_nothing(clients: StoredClients) -> None:
    approve(clients, "alice", "bob")
    assert forbids(a_run(clients)) == set()
    assert isinstance(clients.clock, ManualClock)
    clients.clock.advance(901)
    with pytest.raises(Refused, match=r"the approval is .* old, .* are allowed.*Nothing was changed"):
        CLAIM.act(a_run(clients))
    assert not changed(clients)


def test_a_claim_that_died_between_the_registers_is_completed_without_a_second_look_at_the_answers(
    clients: StoredClients,
) -> None:
    approve(clients, "alice", "bob")
    CLAIM.act(a_run(clients))
    state = clients.registers["west"].read("orders")
    clients.registers["east"] = type(clients.registers["east"])()
    clients.registers["east"].compare_and_set(None, LEFT)
    assert isinstance(clients.clock, ManualClock)
    clients.clock.advance(901)
    assert CLAIM.check(a_run(clients)) == ()
    CLAIM.act(a_run(clients))
    assert clients.registers["east"].read("orders") == clients.registers["west"].read("orders") == state
