"""An answer counts if it is journaled for this verb, this run and the newest question; it is given once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.approvals.journaled import Answer, ApprovalJournal, AskedQuestion
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.people import Person
from kafka_dr.register import Verb
from kafka_dr.runs.request import StepName
from support.memory_register import MemoryRegister

AT = datetime(2026, 11, 22, 3, 5, tzinfo=UTC)
FIRST, SECOND = StepName.APPROVAL, StepName.SECOND_APPROVAL
QUESTION = AskedQuestion("", 0, "d1", "f1", AT, AT + timedelta(minutes=15), (Person("alice", "3"),), "bob")
YES = Answer(True, "alice", AT, "f1", responder_id="3")


@pytest.fixture
def register() -> MemoryRegister:
    return MemoryRegister()


def journal(register: MemoryRegister, *, run: str = "r1", verb: Verb = "planned_failover") -> ApprovalJournal:
    return ApprovalJournal(
        run,
        verb,
        "east",
        read=lambda: register.facts("orders", run),
        add=lambda fact, payload: register.add_fact("orders", run, fact, payload),
    )


def test_an_answer_names_the_verb_the_question_and_its_number(register: MemoryRegister) -> None:
    kept = journal(register)
    asked = kept.ask(QUESTION, FIRST)
    kept.answer(YES, asked, FIRST)
    found = kept.answered(FIRST)
    assert found == replace(YES, verb="planned_failover", attempt=1, question="d1")
    assert kept.asked(FIRST) == replace(QUESTION, verb="planned_failover", attempt=1)


def test_nothing_is_answered_until_it_is_journaled(register: MemoryRegister) -> None:
    kept = journal(register)
    assert kept.answered(FIRST) is None
    kept.answer(YES, kept.ask(QUESTION, FIRST), FIRST)
    assert kept.answered(SECOND) is None


def test_an_answer_to_an_earlier_question_does_not_count(register: MemoryRegister) -> None:
    kept = journal(register)
    kept.answer(YES, kept.ask(QUESTION, FIRST), FIRST)
    again = kept.ask(replace(QUESTION, digest="d2"), FIRST)
    assert again.attempt == 2
    assert kept.answered(FIRST) is None


@pytest.mark.parametrize("step", [FIRST, SECOND])
@pytest.mark.parametrize(("late", "counts"), [(-1, True), (0, False), (1, False)])
def test_an_answer_that_was_given_when_the_question_had_expired_does_not_count(
    register: MemoryRegister, step: StepName, late: int, counts: bool
) -> None:
    kept = journal(register)
    asked = kept.ask(QUESTION, step)
    kept.answer(replace(YES, responded_at=asked.expires_at + timedelta(microseconds=late)), asked, step)
    assert (kept.answered(step) is not None) is counts


def test_an_answer_that_another_verb_got_under_the_same_run_does_not_count(register: MemoryRegister) -> None:
    kept = journal(register, verb="failback")
    kept.answer(YES, kept.ask(QUESTION, FIRST), FIRST)
    assert journal(register).asked(FIRST) is None
    assert journal(register).answered(FIRST) is None
    assert journal(register, run="r2", verb="failback").answered(FIRST) is None


def test_a_question_is_answered_once_and_the_same_answer_may_be_journaled_again(register: MemoryRegister) -> None:
    kept = journal(register)
    asked = kept.ask(QUESTION, FIRST)
    no = replace(YES, approved=False)
    assert kept.answer(no, asked, FIRST) == kept.answer(no, asked, FIRST)
    with pytest.raises(Refused, match="alice has rejected this question of run r1 at 2026-11-22 03:05:00 UTC"):
        kept.answer(YES, asked, FIRST)


def test_an_answer_that_this_version_does_not_know_whole_needs_a_person(register: MemoryRegister) -> None:
    kept = journal(register)
    asked = kept.ask(QUESTION, FIRST)
    register.add_fact("orders", "r1", "answer.1", {**YES.to_json(), "question": "d1", "verb": asked.verb, "new": 1})
    with pytest.raises(NeedsPerson, match="has 'new', which this version does not know"):
        kept.answered(FIRST)
    kept.ask(QUESTION, FIRST)
    register.add_fact("orders", "r1", "answer.2", {"approved": True})
    with pytest.raises(NeedsPerson, match="cannot be read"):
        kept.answered(FIRST)
