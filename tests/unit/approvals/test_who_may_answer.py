"""Who may answer: people found by name and role, never the requester where four eyes are the rule, and never nobody."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.approvals.who_may_answer import declared, found_for, four_eyes
from kafka_dr.errors import Refused
from kafka_dr.people import UNKNOWN_PERSON, Person
from support.sentences import assert_sentence

ALICE, BOB = Person("alice", "3"), Person("bob", "7")


def context(*people: Person, four_eyes: bool = False, roles: tuple[str, ...] = ()) -> Any:
    group = SimpleNamespace(
        name="orders", approvers=("alice",), approver_roles=roles, requester_may_approve=not four_eyes
    )
    return SimpleNamespace(group=group, clients=SimpleNamespace(approvers=lambda _: people))


def test_the_requester_may_approve_unless_four_eyes_are_the_rule() -> None:
    assert found_for(context(ALICE, BOB), requester="alice") == (ALICE, BOB)
    assert found_for(context(ALICE, BOB, four_eyes=True), requester="alice") == (BOB,)
    assert found_for(context(ALICE, BOB, four_eyes=True), requester="") == (ALICE, BOB)


def test_nobody_who_could_approve_is_refused_at_once() -> None:
    with pytest.raises(Refused, match=r"none of its approvers \(alice, role dr\) is known to Airflow's auth manager"):
        found_for(context(roles=("dr",)), requester="alice")
    with pytest.raises(Refused, match="alice triggered the run and is the only approver"):
        found_for(context(ALICE, four_eyes=True), requester="alice")


def test_a_requester_who_is_not_known_could_be_any_approver() -> None:
    assert found_for(context(ALICE, BOB), requester=UNKNOWN_PERSON) == (ALICE, BOB)
    with pytest.raises(Refused, match="it is not known who triggered this run"):
        found_for(context(ALICE, BOB, four_eyes=True), requester=UNKNOWN_PERSON)


@pytest.mark.parametrize(
    ("responder", "requester", "strict", "outcome"),
    [
        ("alice", "bob", True, "ok"),
        ("alice", "alice", False, "ok"),
        ("alice", "alice", True, "failed"),
        ("alice", "", True, "ok"),
    ],
)
def test_evidence_says_who_triggered_and_who_approved(
    responder: str, requester: str, strict: bool, outcome: str
) -> None:
    check = four_eyes(context(ALICE, four_eyes=strict), responder, requester)
    assert check.outcome == outcome
    assert_sentence(check.detail)


def test_somebody_who_was_asked_because_of_a_role_is_declared_as_long_as_there_are_roles() -> None:
    assert declared(context(), "alice")
    assert not declared(context(), "bob")
    assert declared(context(roles=("dr-approvers",)), "bob")
