"""A signed answer counts only as it was signed; an answer that nobody verified is never shown as ok."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.approvals.journaled import BY_KEY, BY_NOBODY, Answer
from kafka_dr.approvals.signed import (
    REVIEWED,
    approver_of,
    key_people,
    public_line,
    requester_of,
    sign,
    unreviewed,
    verified,
)
from kafka_dr.evidence.signing import SigningKey

KEY = SigningKey.generate()
AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
SAID = Answer(True, "alice", AT, "d1", "go", "id-1", BY_KEY, "planned_failover", 1, "q1")
SIGNED = sign(SAID, "orders", "run-1", KEY)


def group(**keys: SigningKey) -> Any:
    """What a protection group declares about approvers."""
    lines = {name: public_line(key.public_pem) for name, key in (keys or {"alice": KEY}).items()}
    return SimpleNamespace(name="orders", approvers=("alice", "bob"), approver_roles=(), approver_keys=lines)


def test_who_may_only_ask_is_known_by_a_key_and_is_no_approver_by_it() -> None:
    own, declared = SigningKey.generate(), group()
    declared.requester_keys = {"carol": public_line(own.public_pem)}
    assert (requester_of(declared, own), approver_of(declared, own)) == ("carol", None)
    assert (requester_of(declared, KEY), requester_of(declared, SigningKey.generate())) == ("alice", "")
    as_carol = sign(replace(SAID, responder="carol"), "orders", "run-1", own)
    assert verified(as_carol, declared, "run-1").outcome == "failed"


def test_an_answer_that_is_signed_with_the_declared_key_is_ok() -> None:
    assert verified(SIGNED, group(), "run-1").outcome == "ok"


@pytest.mark.parametrize(
    "changed",
    [
        {"approved": False},
        {"responder": "bob"},
        {"responded_at": AT.replace(hour=4)},
        {"digest": "d2"},
        {"reason": "stop"},
        {"verb": "failback"},
        {"attempt": 2},
        {"question": "q2"},
        {"responder_id": "id-2"},
        {"requester": "bob"},
        {"signature": ""},
        {"signature": "no base64"},
    ],
    ids=str,
)
def test_no_part_of_a_signed_answer_can_be_changed(changed: dict[str, Any]) -> None:
    assert verified(replace(SIGNED, **changed), group(alice=KEY, bob=KEY), "run-1").outcome == "failed"


def test_a_signature_counts_for_one_run_of_one_group_and_only_with_the_key_that_is_declared_now() -> None:
    other = group()
    other.name = "payments"
    assert verified(SIGNED, group(), "run-2").outcome == "failed"
    assert verified(SIGNED, other, "run-1").outcome == "failed"
    assert verified(SIGNED, group(alice=SigningKey.generate()), "run-1").outcome == "failed"
    assert verified(SIGNED, group(bob=KEY), "run-1").outcome == "failed"


def test_an_answer_that_nobody_verified_is_overridden_and_fails_where_data_is_deleted() -> None:
    broken = replace(SAID, verified=BY_NOBODY)
    assert verified(broken, group(), "run-1").outcome == "overridden"
    assert verified(broken, group(), "run-1", glass=False).outcome == "failed"
    assert verified(replace(SAID, verified="Airflow"), group(), "run-1").outcome == "ok"


def test_only_approvers_have_keys_that_count() -> None:
    declared = group(alice=KEY, mallory=SigningKey.generate())
    assert [person.name for person in key_people(declared)] == ["alice"]
    found = approver_of(declared, KEY)
    assert found is not None
    assert found.name == "alice"
    assert approver_of(declared, SigningKey.generate()) is None


def test_a_run_by_break_glass_is_named_until_it_is_reviewed() -> None:
    broken, plain = replace(SAID, verified=BY_NOBODY).to_json(), SAID.to_json()
    history = {
        "r1": {"answer.1": broken},
        "r2": {"second_answer.1": broken, "answer.1": plain},
        "r3": {"answer.1": plain, "claim": {"epoch": 2}},
        "r4": {"answer.1": broken, REVIEWED: {"by": "dave"}},
    }
    assert unreviewed(history) == ("r1", "r2")
