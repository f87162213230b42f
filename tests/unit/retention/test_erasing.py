"""Erasing on the command line: what registers and evidence say afterwards, and a process that dies anywhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.approvals.journaled import BY_KEY, BY_NOBODY
from kafka_dr.approvals.signed import REVIEWED, erasure_is_signed, public_line, unreviewed
from kafka_dr.audit.erasure import erasures_in
from kafka_dr.errors import Refused
from kafka_dr.evidence.known_secrets import SecretInEvidence
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.register import Phase
from kafka_dr.rescue.kept import missing_from
from kafka_dr.retention.erasing import Confirmation
from support.kept_list import RUN
from support.kept_world import KeptWorld, KilledHere
from support.register_states import a_state


@pytest.fixture
def world(tmp_path: Path) -> KeptWorld:
    return KeptWorld(tmp_path)


def test_a_look_changes_nothing(world: KeptWorld) -> None:
    before = world.content()
    assert world.eraser().look(RUN).matches.total == 4
    assert (world.content(), world.storage.changes, world.journal()) == (before, 0, {})


def test_whatever_it_dies_after_the_next_call_finishes_with_one_erasure_and_its_sealed_record(tmp_path: Path) -> None:
    after = 0
    while True:
        after += 1
        world = KeptWorld(tmp_path / str(after))
        try:
            world.eraser(dies_after=after).erase(RUN)
            break
        except KilledHere:
            found = world.store.read()
            assert found is not None
            # Until a register knows of it, a failback sees no change; afterwards it waits for the rest.
            before = missing_from(found, world.store.folder, erasures_in(world.journal()))
            assert before == "" or "run python -m kafka_dr erase again" in before
        world.eraser().erase(RUN)
        assert_erased(world)
        assert world.eraser().erase(RUN).matches.total == 0
        assert len(erasures_in(world.journal())) == 1
    assert after > 8


def test_what_nobody_confirmed_is_not_erased(world: KeptWorld) -> None:
    before = world.content()
    with pytest.raises(Refused, match="nobody confirmed"):
        world.eraser(confirmed=None).erase(RUN)
    assert (world.content(), world.journal()) == (before, {})


def test_an_approvers_signature_holds_for_this_erasure_and_for_no_other(world: KeptWorld) -> None:
    key, group = SigningKey.generate(), declared(bob := "bob", SigningKey.generate())
    world.eraser(confirmed=Confirmation(bob, BY_KEY, key)).erase(RUN)
    fact = world.journal()["erased-1"]
    assert (fact["by"], fact["approver"], fact["verified"]) == ("dana", bob, BY_KEY)
    assert not erasure_is_signed(fact, group, RUN)
    group = declared(bob, key)
    assert erasure_is_signed(fact, group, RUN)
    changed: tuple[dict[str, Any], ...] = (
        {"by": "eve"},
        {"records": 5},
        {"approver": "alice"},
        {"signature": "=="},
        {"files": []},
    )
    assert not any(erasure_is_signed({**fact, **each}, group, RUN) for each in changed)
    assert not erasure_is_signed(fact, group, "another")
    assert "confirmed by bob, who was verified by a key" in erasures_in(world.journal())[0].sentence
    assert unreviewed({RUN: world.journal()}) == ()


def test_a_break_glass_is_named_until_somebody_reviews_it_and_the_next_one_is_named_again(world: KeptWorld) -> None:
    answer = {"answer.1": {"verified": BY_NOBODY, "at": world.clock.now().isoformat()}}
    world.clock.advance(60)
    reviewed = {REVIEWED: {"at": world.clock.now().isoformat()}}
    assert unreviewed({RUN: {**answer, **reviewed}}) == ()
    world.clock.advance(60)
    world.eraser().erase(RUN)
    assert unreviewed({RUN: {**answer, **reviewed, **world.journal()}}) == (RUN,)
    world.clock.advance(60)
    reviewed = {REVIEWED: {"at": world.clock.now().isoformat()}}
    assert unreviewed({RUN: {**answer, **reviewed, **world.journal()}}) == ()
    assert unreviewed({RUN: world.journal()}) == (RUN,)


def declared(name: str, key: SigningKey) -> Any:
    """Return a group that declares one approver with a key."""
    keys = {name: public_line(key.public_pem)}
    return SimpleNamespace(name="orders", approver_keys=keys, approvers=(name,), approver_roles=())


def assert_erased(world: KeptWorld) -> None:
    found, (erasure,) = world.store.read(), erasures_in(world.journal())
    assert found is not None
    assert missing_from(found, world.store.folder, (erasure,)) == ""
    assert b"alice" not in world.content()
    assert (erasure.by, erasure.reason, erasure.records) == ("dana", "request 4711", 4)
    assert erasures_in(world.journal("east")) == (erasure,)
    sealed = check_sealed_run(world.folder / "runs" / "orders" / erasure.run)
    assert (sealed.changed, sealed.seals) == ((), 1)


def test_a_register_that_did_not_answer_gets_the_record_with_the_next_call(world: KeptWorld) -> None:
    world.registers.silent = {"east"}
    world.eraser().erase(RUN)
    assert (len(world.journal()), world.journal("east")) == (2 - 1, {})
    world.registers.silent = set()
    world.eraser().erase(RUN)
    assert_erased(world)


def test_it_is_refused_while_a_failback_reads_the_list_and_while_the_register_that_decides_is_silent(
    world: KeptWorld,
) -> None:
    before = world.content()
    world.registers.set(west=a_state(**{**_CLAIMED}), east=a_state(**{**_CLAIMED}))
    with pytest.raises(Refused, match="the failback home holds orders"):
        world.eraser().erase(RUN)
    world.registers.silent = {"west"}
    with pytest.raises(Exception, match="west"):
        world.eraser().erase(RUN)
    assert world.content() == before


_CLAIMED: dict[str, Any] = {
    "phase": Phase.DIVERGED,
    "active": "west",
    "standby": "east",
    "epoch": 1001,
    "verb": "failback",
    "run": "home",
}


def test_a_reason_that_holds_a_secret_is_refused_before_anything_is_written(world: KeptWorld) -> None:
    before = world.content()
    with pytest.raises(SecretInEvidence):
        world.eraser(reason="the password is hunter2-hunter2").erase(RUN)
    assert (world.content(), world.journal()) == (before, {})
