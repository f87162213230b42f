"""A failback of a group with several standbys makes one of them a copy again, and leaves all others what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, transitions
from kafka_dr.register.roles import Role
from kafka_dr.register.state import HOLDING, roles_in
from kafka_dr.register.transitions import failback_abandoned, failback_begun, failed_back
from kafka_dr.runs.at_rest import at_rest
from kafka_dr.runs.request import FAILBACK, VERBS, StepName
from kafka_dr.runs.step_order import turn_of
from support.register_states import AT

SIGNED: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}
PLANNED: dict[str, Any] = {
    "run": "p",
    "verb": "planned_failover",
    "source": "west",
    "target": "east",
    "highest_epoch": 1,
}


def left(*, fenced: bool = True, north: Role = Role.COPY) -> RegisterState:
    """East was given up for west, and north is what ``dr_flows`` has found it to be."""
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    claim = transitions.claimed_unplanned(
        adopted, run="disaster", source="east", target="west", highest_epoch=1, **SIGNED
    )
    moved = transitions.handed_over(claim, run="disaster", at=AT)
    state = transitions.without_source(moved, run="disaster", fenced=fenced, at=AT)
    found = {Role.COPY: transitions.copied_again, Role.DIVERGED: transitions.holds_more}.get(north)
    return found(state, "north") if found else state


def begun(state: RegisterState, standby: str, *, run: str = "repair") -> RegisterState:
    return failback_begun(state, run=run, standby=standby, **SIGNED)


def roles(state: RegisterState) -> dict[str, str]:
    return {name: role.value for name, role in state.roles.each}


@pytest.mark.parametrize("north", [Role.COPY, Role.PENDING, Role.DIVERGED])
def test_the_other_standby_is_what_it_was_in_every_phase_of_a_failback(north: Role) -> None:
    held = begun(left(north=north), "east")
    assert (held.standby, held.is_held, held.is_failing_back) == ("east", True, True)
    ended = failed_back(held, run="repair", quarantine=(), at=AT)
    given_up = failback_abandoned(held, run="repair", at=AT)
    assert [roles(state) for state in (held, ended, given_up)] == [
        {"east": "diverged", "north": north, "west": "active"},
        {"east": "copy", "north": north, "west": "active"},
        {"east": "diverged", "north": north, "west": "active"},
    ]
    assert not ended.is_held
    assert not given_up.is_held


def test_what_another_standby_lacks_keeps_the_group_from_being_stable_and_the_failback_from_nothing() -> None:
    ended = failed_back(begun(left(north=Role.DIVERGED), "east"), run="repair", quarantine=(), at=AT)
    assert (ended.phase, ended.run_phase) == (Phase.DIVERGED, Phase.STABLE)
    assert turn_of(StepName.SETTLE, "repair", ended, "failback").verdict == "its_turn"
    assert turn_of(StepName.CATCH_UP, "repair", ended, "failback").verdict == "passed"
    assert turn_of(StepName.REPORT, "repair", ended, "failback").verdict == "its_turn"
    with pytest.raises(Refused, match="no failback owns it"):
        failed_back(ended, run="repair", quarantine=(), at=AT)
    # The group may be moved meanwhile, and not to that standby.
    assert roles(transitions.claimed(ended, **PLANNED, **SIGNED))["north"] == "diverged"
    with pytest.raises(Refused, match="north holds no copy of orders: choose east"):
        transitions.claimed(ended, **{**PLANNED, "target": "north"}, **SIGNED)
    last = failed_back(begun(ended, "north", run="next"), run="next", quarantine=(), at=AT)
    assert (last.phase, roles(last)) == (Phase.STABLE, {"east": "copy", "north": "copy", "west": "active"})


def test_a_standby_that_holds_more_is_made_a_copy_while_the_lost_cluster_is_away() -> None:
    state = left(fenced=False, north=Role.DIVERGED)
    assert state.phase is Phase.UNFENCED
    held = begun(state, "north")
    assert held.phase is Phase.DIVERGED
    with pytest.raises(Refused, match="not unfenced"):
        transitions.fenced_on_return(held, at=AT, cluster="east")
    ended = failed_back(held, run="repair", quarantine=(), at=AT)
    assert (ended.phase, roles(ended)) == (Phase.UNFENCED, {"east": "unfenced", "north": "copy", "west": "active"})
    back = transitions.fenced_on_return(ended, at=AT, cluster="east")
    assert (back.phase, back.roles.given_up) == (Phase.DIVERGED, ("east",))


@pytest.mark.parametrize("standby", ["north", "west", "south"])
def test_only_a_diverged_standby_is_made_a_copy_again(standby: str) -> None:
    with pytest.raises(Refused, match=f"{standby} is (copy|active|none of its clusters), not diverged"):
        begun(left(), standby)
    with pytest.raises(Refused, match="east is unfenced, not diverged"):
        begun(left(fenced=False), "east")
    with pytest.raises(Refused, match="failback repair owns orders"):
        begun(begun(left(north=Role.DIVERGED), "east"), "north", run="other")


@pytest.mark.parametrize("step", [step.name for step in FAILBACK])
def test_every_step_of_another_run_is_refused_while_a_failback_holds_the_group(step: StepName) -> None:
    held = begun(left(north=Role.DIVERGED), "east")
    assert turn_of(step, "other", held, "failback").verdict == "refused"


def test_the_standby_that_a_failback_does_not_concern_is_watched_and_copied_as_before() -> None:
    held = begun(left(), "east")
    assert at_rest("orders", held) == held
    assert (held.followers, held.steady_copies) == (("north",), ("north",))
    pending = begun(left(north=Role.PENDING), "east")
    copied = transitions.copied_again(pending, "north")
    assert (copied.is_failing_back, copied.run, copied.roles.of("north")) == (True, "repair", Role.COPY)
    assert failed_back(copied, run="repair", quarantine=(), at=AT).phase is Phase.STABLE


def test_an_unplanned_failover_takes_a_sound_standby_from_a_failback_and_the_failback_is_over() -> None:
    held = begun(left(), "east")
    claim = transitions.claimed_unplanned(
        held, run="again", source="west", target="north", highest_epoch=held.epoch, **SIGNED
    )
    assert (claim.phase, claim.standby, claim.epoch) == (Phase.SWITCHING, "north", 2002)
    moved = transitions.handed_over(claim, run="again", at=AT)
    assert roles(moved) == {"east": "diverged", "north": "active", "west": "pending"}
    assert turn_of(StepName.CATCH_UP, "repair", moved, "failback").verdict == "refused"
    for fenced, phase in ((True, Phase.DIVERGED), (False, Phase.UNFENCED)):
        assert transitions.without_source(moved, run="again", fenced=fenced, at=AT).phase is phase
    drained = transitions.settled(moved, run="again", at=AT)
    assert (drained.phase, drained.run_phase, drained.roles.given_up) == (Phase.DIVERGED, Phase.STABLE, ("east",))


@pytest.mark.parametrize("fenced", [True, False])
def test_a_roll_back_forgets_no_cluster_that_was_given_up_before(fenced: bool) -> None:
    before = left(fenced=fenced)
    claim = transitions.claimed_unplanned(
        before, run="again", source="west", target="north", highest_epoch=before.epoch, **SIGNED
    )
    undone = transitions.rolled_back(claim, run="again", at=AT)
    assert (undone.phase, undone.roles) == (before.phase, before.roles)
    assert undone.phase not in HOLDING


def test_a_pair_is_what_it_was() -> None:
    pair = replace(left(), roles=roles_in(Phase.DIVERGED, active="west", standby="east"), partner="")
    held = failback_begun(pair, run="repair", **SIGNED)
    assert (held.phase, held.partner, at_rest("orders", held) == held) == (Phase.DIVERGED, "", False)
    assert failed_back(held, run="repair", quarantine=(), at=AT).phase is Phase.STABLE


def test_a_release_closes_all_standbys_and_abandoned_it_leaves_each_what_it_was() -> None:
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    held = transitions.releasing(adopted, run="leave", standby="north", **SIGNED)
    assert (held.is_held, held.standby, roles(held)) == (True, "north", roles(adopted))
    closed = transitions.released(held, run="leave", at=AT)
    assert (closed.phase, closed.is_adopted) == (Phase.RELEASED, False)
    assert roles(closed) == {"east": "active", "north": "pending", "west": "pending"}
    again = transitions.adopted("orders", active="west", standbys=["east", "north"], run="b", at=AT, before=closed)
    assert again.epoch == closed.epoch + 1
    kept = transitions.kept(held, run="leave", at=AT)
    assert (kept.phase, kept.roles, kept.is_held) == (Phase.STABLE, adopted.roles, False)
    assert VERBS["un_adopt"].only_standby(adopted) in ("north", "west")
    with pytest.raises(Refused, match="east a copy again with dr_failback"):
        transitions.releasing(left(), run="leave", standby="north", **SIGNED)
    for state in (held, closed, kept):
        assert RegisterState.from_json(state.to_json()) == state
