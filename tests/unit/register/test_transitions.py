from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import product

import pytest

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, transitions
from support.register_states import AT, a_state

LATER = AT + timedelta(minutes=1)
Move = Callable[[RegisterState], RegisterState]


def claim(state: RegisterState, *, source: str = "east", target: str = "west", highest_epoch: int = 0) -> RegisterState:
    return transitions.claimed(
        state,
        run="run-1",
        verb="planned_failover",
        source=source,
        target=target,
        highest_epoch=highest_epoch,
        evidence_sha256="d1",
        approved_by="alice",
        at=LATER,
    )


def release(state: RegisterState) -> RegisterState:
    return transitions.releasing(state, run="run-1", evidence_sha256="d1", approved_by="alice", at=LATER)


def take_over(before: RegisterState | None) -> RegisterState:
    return transitions.taking_over(
        "orders",
        active="east",
        standby="west",
        run="run-1",
        evidence_sha256="d1",
        approved_by="alice",
        at=LATER,
        before=before,
    )


MOVES: dict[str, tuple[Move, Phase, bool]] = {
    # name: the transition, the only phase that it starts from, whether the run has to own the record
    "claim": (claim, Phase.STABLE, False),
    "hand over": (lambda state: transitions.handed_over(state, run="run-1", at=LATER), Phase.SWITCHING, True),
    "settle": (lambda state: transitions.settled(state, run="run-1", at=LATER), Phase.HANDED_OVER, True),
    "roll back": (lambda state: transitions.rolled_back(state, run="run-1", at=LATER), Phase.SWITCHING, True),
    "end a take over": (lambda state: transitions.taken_over(state, run="run-1", at=LATER), Phase.ADOPTING, True),
    "give back": (lambda state: transitions.given_back(state, run="run-1", at=LATER), Phase.ADOPTING, True),
    "begin a release": (release, Phase.STABLE, False),
    "release": (lambda state: transitions.released(state, run="run-1", at=LATER), Phase.RELEASING, True),
    "keep": (lambda state: transitions.kept(state, run="run-1", at=LATER), Phase.RELEASING, True),
}
EVERY_CASE = [(move, phase, run) for move, phase, run in product(MOVES, Phase, ("run-1", "run-2"))]


@pytest.mark.parametrize(("move", "phase", "run"), EVERY_CASE)
def test_each_move_starts_from_one_phase_of_its_own_run_and_raises_the_order(move: str, phase: Phase, run: str) -> None:
    make, start, owned = MOVES[move]
    state = a_state(epoch=4, revision=1, phase=phase, run=run)
    if phase is start and (run == "run-1" or not owned):
        new = make(state)
        assert new.order > state.order
        assert (new.group, new.run, new.at) == ("orders", "run-1", LATER)
        assert {new.active, new.standby} == {"east", "west"}
    else:
        with pytest.raises(
            Refused,
            match=rf"orders is {phase} by run {run} \(epoch 4\).*(wait|failback first|may not change it|run dr_adopt)",
        ):
            make(state)


def test_a_take_over_begins_without_a_record_or_after_a_release_and_no_epoch_is_used_twice() -> None:
    first = take_over(None)
    assert (first.epoch, first.phase, first.is_held, first.is_adopted) == (1, Phase.ADOPTING, True, False)
    again = take_over(a_state(phase=Phase.RELEASED, epoch=7))
    assert (again.epoch, again.revision) == (8, 0)
    plain = transitions.adopted(
        "orders", active="east", standbys=["west"], run="r", at=AT, before=a_state(phase=Phase.RELEASED, epoch=7)
    )
    assert (plain.epoch, plain.phase) == (8, Phase.STABLE)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.RELEASED])
def test_a_group_that_has_a_record_is_not_taken_over(phase: Phase) -> None:
    with pytest.raises(Refused, match=f"orders is {phase} by run run-2"):
        take_over(a_state(phase=phase, run="run-2"))


def test_an_adopted_group_begins_with_epoch_one() -> None:
    state = transitions.adopted("orders", active="east", standbys=["west"], run="adoption", at=AT)
    assert state == a_state()


def test_a_claim_keeps_the_active_cluster_until_the_hand_over() -> None:
    switching = claim(a_state())
    assert (switching.phase, switching.active, switching.standby) == (Phase.SWITCHING, "east", "west")
    assert (switching.verb, switching.evidence_sha256, switching.approved_by) == ("planned_failover", "d1", "alice")
    handed = transitions.handed_over(switching, run="run-1", at=LATER)
    assert (handed.phase, handed.active, handed.standby) == (Phase.HANDED_OVER, "west", "east")
    settled = transitions.settled(handed, run="run-1", at=LATER)
    assert (settled.phase, settled.active, settled.standby) == (Phase.STABLE, "west", "east")
    assert (settled.epoch, settled.revision) == (switching.epoch, 2)


def test_a_claim_takes_an_epoch_that_no_cluster_has_used() -> None:
    assert claim(a_state(epoch=4), highest_epoch=7).order == (8, 0)
    assert claim(a_state(epoch=4), highest_epoch=2).order == (5, 0)


def test_a_roll_back_keeps_the_active_cluster_and_names_its_verb() -> None:
    back = transitions.rolled_back(claim(a_state()), run="run-1", at=LATER)
    assert (back.phase, back.active, back.standby, back.verb) == (Phase.STABLE, "east", "west", "roll_back")
    assert back.order == (3, 0)


def test_a_rolled_back_epoch_is_never_used_again() -> None:
    first = claim(a_state())
    second = claim(transitions.rolled_back(first, run="run-1", at=LATER))
    assert len({1, first.epoch, 3, second.epoch}) == 4


def test_a_run_with_the_wrong_source_is_refused_with_the_active_cluster() -> None:
    with pytest.raises(Refused, match="active on east, not on west: start the run with that source"):
        claim(a_state(), source="west", target="east")


def test_a_run_to_the_active_cluster_is_refused() -> None:
    with pytest.raises(Refused, match="already active on east: choose another target"):
        claim(a_state(), target="east")
