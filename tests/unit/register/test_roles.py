"""What each cluster is: exactly one is active, each standby has its own state, and every transition keeps that."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.codec import decode, encode
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.register import Phase, RegisterState, transitions
from kafka_dr.register.roles import Role, Roles, StoredRoles
from kafka_dr.register.state import is_on_majority, roles_in
from kafka_dr.runs.request import VERBS
from support.register_states import AT, a_state

CLUSTERS = ("east", "north", "south", "west")
STANDBYS = [role for role in Role if role.is_standby]
MEMBERS = [role for role in Role if role is not Role.ACTIVE and not role.is_standby]
RUN: dict[str, Any] = {"run": "run-1", "at": AT}
APPROVED = {**RUN, "evidence_sha256": "d1", "approved_by": "alice"}


@given(st.dictionaries(st.sampled_from(CLUSTERS), st.sampled_from(Role)))
def test_a_group_has_one_active_cluster_and_standbys_or_members_alone(each: dict[str, Role]) -> None:
    found = list(each.values())
    with_active = found.count(Role.ACTIVE) == 1 and all(role is Role.ACTIVE or role.is_standby for role in found)
    members = bool(found) and all(role in MEMBERS for role in found)
    if not with_active and not members:
        with pytest.raises(ValueError, match="one active cluster and standbys, or members alone"):
            Roles(tuple(each.items()))
        return
    roles = Roles(tuple(each.items()))
    assert {name: roles.of(name) for name in CLUSTERS} == {name: each.get(name) for name in CLUSTERS}
    assert roles.standbys == tuple(name for name in sorted(each) if each[name].is_standby)
    assert Roles(tuple(reversed(roles.each))) == roles == decode(StoredRoles, encode(roles, StoredRoles))
    if with_active:
        assert roles.of(roles.active) is Role.ACTIVE
    else:
        with pytest.raises(NeedsPerson, match="this needs exactly one active cluster"):
            _ = roles.active


def test_of_a_group_without_a_record_one_cluster_is_active_and_all_others_are_standbys() -> None:
    assert Roles.at_first(("west", "east"), "east") == Roles.of_pair("east", "west", Role.PENDING)
    assert Roles.at_first(("west", "east", "south"), "east").standbys == ("south", "west")
    with pytest.raises(Refused, match="north is none of the group's clusters: choose one of west, east"):
        Roles.at_first(("west", "east"), "north")


def test_a_cluster_has_one_role() -> None:
    with pytest.raises(ValueError, match="one active cluster"):
        Roles((("east", Role.ACTIVE), ("west", Role.COPY), ("west", Role.DIVERGED)))


def test_each_standby_has_its_own_state_and_none_is_the_standby_if_there_are_several() -> None:
    roles = Roles((("west", Role.ACTIVE), ("south", Role.DIVERGED), ("east", Role.COPY)))
    assert (roles.standbys, roles.of("south"), roles.of("east")) == (("east", "south"), Role.DIVERGED, Role.COPY)
    with pytest.raises(NeedsPerson, match="east copy, south diverged, west active, and this needs exactly one standby"):
        _ = roles.standby


@pytest.mark.parametrize("role", [*MEMBERS, Role.ACTIVE])
def test_a_pair_has_a_standby(role: Role) -> None:
    with pytest.raises(ValueError, match="one active cluster"):
        Roles.of_pair("east", "west", role)
    with pytest.raises(ValueError, match="east is both active and standby"):
        Roles.of_pair("east", "east", Role.COPY)


STABLE, DIVERGED = a_state(), a_state(phase=Phase.DIVERGED, active="west", standby="east")
SWITCHING = a_state(phase=Phase.SWITCHING, run="run-1")
HANDED_OVER = transitions.handed_over(SWITCHING, **RUN)
FAILBACK = transitions.failback_begun(DIVERGED, **APPROVED)
ADOPTING = transitions.taking_over("orders", active="east", standby="west", **APPROVED)
RELEASING = transitions.releasing(STABLE, **APPROVED)
TO_WEST = {"source": "east", "target": "west", "highest_epoch": 1, **APPROVED}
#: What each transition makes of east and west.
MOVES = {
    "adopt": (transitions.adopted("orders", active="east", standbys=["west"], **RUN), "active", "copy"),
    "take over": (ADOPTING, "active", "pending"),
    "taken over": (transitions.taken_over(ADOPTING, **RUN), "active", "copy"),
    "given back": (transitions.given_back(ADOPTING, **RUN), "active", "pending"),
    "claim": (transitions.claimed(STABLE, verb="planned_failover", **TO_WEST), "active", "copy"),
    "claim of an unplanned one": (transitions.claimed_unplanned(STABLE, **TO_WEST), "active", "copy"),
    "claim of a dead run": (transitions.claimed_unplanned(SWITCHING, **TO_WEST), "active", "copy"),
    "roll back": (transitions.rolled_back(SWITCHING, **RUN), "active", "copy"),
    "hand over": (HANDED_OVER, "pending", "active"),
    "settle": (transitions.settled(HANDED_OVER, **RUN), "copy", "active"),
    "left unfenced": (transitions.without_source(HANDED_OVER, fenced=False, **RUN), "unfenced", "active"),
    "left fenced": (transitions.without_source(HANDED_OVER, fenced=True, **RUN), "diverged", "active"),
    "failback": (FAILBACK, "diverged", "active"),
    "failback abandoned": (transitions.failback_abandoned(FAILBACK, **RUN), "diverged", "active"),
    "failed back": (transitions.failed_back(FAILBACK, quarantine=(), **RUN), "copy", "active"),
    "release": (RELEASING, "active", "copy"),
    "keep": (transitions.kept(RELEASING, **RUN), "active", "copy"),
    "released": (transitions.released(RELEASING, **RUN), "active", "pending"),
}


@pytest.mark.parametrize("move", MOVES)
def test_each_transition_says_what_both_clusters_are_and_the_record_reads_back(move: str) -> None:
    state, east, west = MOVES[move]
    assert (state.roles.of("east"), state.roles.of("west")) == (east, west)
    assert type(state).from_json(state.to_json()) == state


@pytest.mark.parametrize(("phase", "target"), list(product((Phase.STABLE, Phase.SWITCHING), ("south", ""))))
def test_a_failover_goes_only_to_a_cluster_whose_own_state_is_a_copy(phase: Phase, target: str) -> None:
    with pytest.raises(Refused, match=f"{target} holds no copy of orders: choose west"):
        transitions.claimed_unplanned(a_state(phase=phase), **{**TO_WEST, "target": target})


@pytest.mark.parametrize("phase", Phase)
def test_in_every_phase_a_pair_has_one_active_cluster_and_one_standby(phase: Phase) -> None:
    roles = roles_in(phase, active="east", standby="west")
    assert (roles.active, roles.standby, roles.of("west") in STANDBYS) == ("east", "west", True)


THREE = transitions.adopted("orders", active="east", standbys=["west", "north"], **RUN)
OTHER: dict[str, Any] = {"run": "run-2", "at": AT, "evidence_sha256": "d1", "approved_by": "alice"}


def switched(state: RegisterState, target: str) -> list[RegisterState]:
    """Return the records of a planned failover of a group, from its claim to its end."""
    move: dict[str, Any] = {"source": state.active, "target": target, "highest_epoch": state.epoch}
    claimed = transitions.claimed(state, verb="planned_failover", **move, **OTHER)
    handed_over = transitions.handed_over(claimed, run="run-2", at=AT)
    return [claimed, handed_over, transitions.settled(handed_over, run="run-2", at=AT)]


def roles_of(state: RegisterState) -> tuple[Role | None, ...]:
    return tuple(state.roles.of(name) for name in ("east", "west", "north"))


def test_a_run_concerns_one_of_several_standbys_and_the_others_wait_for_a_flow_after_it() -> None:
    assert roles_of(THREE) == ("active", "copy", "copy")
    claimed, handed_over, settled = switched(THREE, "west")
    assert [roles_of(each) for each in (claimed, handed_over, settled)] == [
        ("active", "copy", "copy"),
        ("pending", "active", "pending"),
        ("copy", "active", "pending"),
    ]
    assert [each.standby for each in (claimed, handed_over)] == ["west", "east"]
    assert settled.moved_with == "east"
    with pytest.raises(NeedsPerson, match="this needs exactly one standby"):
        _ = settled.standby
    for state in (THREE, claimed, handed_over, settled):
        assert RegisterState.from_json(state.to_json()) == state
    back = transitions.rolled_back(claimed, run="run-2", at=AT)
    assert (roles_of(back), back.phase) == (("active", "copy", "copy"), Phase.STABLE)


def test_a_target_to_which_records_were_fetched_is_no_copy_after_a_roll_back() -> None:
    claimed = switched(THREE, "west")[0]
    back = transitions.rolled_back(claimed, run="run-2", at=AT, fetched=True)
    assert (roles_of(back), back.phase) == (("active", "diverged", "copy"), Phase.DIVERGED)
    assert RegisterState.from_json(back.to_json()) == back
    with pytest.raises(Refused, match="west holds no copy of orders: choose north"):
        switched(back, "west")
    # What was found out later of a copy to which a flow was about to start.
    later = transitions.holds_more(transitions.rolled_back(claimed, run="run-2", at=AT), "west")
    assert roles_of(later) == ("active", "diverged", "copy")


def test_a_standby_that_waits_for_a_flow_is_no_target_before_it_is_copied_again() -> None:
    settled = switched(THREE, "west")[-1]
    with pytest.raises(Refused, match="north holds no copy of orders: choose east"):
        switched(settled, "north")
    again = transitions.copied_again(settled, "north")
    assert (again.epoch, again.revision, roles_of(again)) == (
        settled.epoch,
        settled.revision + 1,
        ("copy", "active", "copy"),
    )
    assert roles_of(switched(again, "north")[-1]) == ("pending", "copy", "active")
    with pytest.raises(Refused, match="east does not wait for a flow"):
        transitions.copied_again(again, "east")
    with pytest.raises(Refused, match="orders is switching by run run-2"):
        transitions.copied_again(switched(again, "north")[0], "east")


def test_a_group_with_several_standbys_is_released_as_a_whole_and_only_while_each_is_a_copy() -> None:
    released = transitions.released(transitions.releasing(THREE, standby="west", **OTHER), run="run-2", at=AT)
    assert (roles_of(released), released.phase) == (("active", "pending", "pending"), Phase.RELEASED)
    with pytest.raises(Refused, match="only a failover to a copy may move it; make north a copy again"):
        transitions.releasing(transitions.holds_more(THREE, "north"), standby="west", **OTHER)


@pytest.mark.parametrize("partner", ["east", "south", ""])
def test_a_record_of_a_run_that_names_no_standby_of_its_group_is_refused(partner: str) -> None:
    claimed = switched(THREE, "west")[0]
    with pytest.raises(NeedsPerson, match="cannot be read"):
        RegisterState.from_json(replace(claimed, partner=partner).to_json())


def test_the_record_of_a_pair_names_no_partner() -> None:
    for state in switched(STABLE, "west"):
        assert (state.partner, b"partner" in state.to_json()) == ("", False)
    with pytest.raises(NeedsPerson, match="cannot be read"):
        RegisterState.from_json(replace(STABLE, partner="west").to_json())


def test_a_record_is_on_a_majority_if_more_than_half_of_the_registers_hold_it() -> None:
    older, new = THREE, switched(THREE, "west")[0]
    assert is_on_majority(new, {"east": new, "west": new, "north": older})
    assert not is_on_majority(new, {"east": new, "west": older, "north": None})
    assert not is_on_majority(STABLE, {"east": STABLE})


def given_up(state: RegisterState, target: str, run: str) -> RegisterState:
    """Return the record after an unplanned failover whose source could not be fenced."""
    move: dict[str, Any] = {"source": state.active, "target": target, "highest_epoch": state.epoch}
    claim = transitions.claimed_unplanned(state, **move, **{**APPROVED, "run": run})
    return transitions.without_source(transitions.handed_over(claim, run=run, at=AT), run=run, fenced=False, at=AT)


def test_a_standby_that_is_copied_can_be_the_next_target_while_a_lost_cluster_is_away() -> None:
    first = given_up(THREE, "west", "run-1")
    assert dict(first.roles.each) == {"east": Role.UNFENCED, "north": Role.PENDING, "west": Role.ACTIVE}
    assert (first.is_at_rest, first.followers) == (True, ("north",))
    with pytest.raises(Refused, match="north holds no copy"):
        given_up(first, "north", "run-2")
    copied = transitions.copied_again(first, "north")
    move: dict[str, Any] = {"verb": "planned_failover", "source": "west", "target": "north", "highest_epoch": 1003}
    with pytest.raises(Refused, match="orders is unfenced by run run-1"):
        transitions.claimed(copied, **move, **APPROVED)
    second = given_up(copied, "north", "run-2")
    assert dict(second.roles.each) == {"east": Role.UNFENCED, "north": Role.ACTIVE, "west": Role.UNFENCED}
    assert (second.phase, second.is_at_rest) == (Phase.UNFENCED, False)
    assert second.epoch == 2002

    back = transitions.fenced_on_return(second, at=AT, cluster="east")
    assert (back.phase, back.roles.of("east"), back.roles.of("west")) == (
        Phase.UNFENCED,
        Role.DIVERGED,
        Role.UNFENCED,
    )
    with pytest.raises(Refused, match="no old cluster to fence"):
        transitions.fenced_on_return(back, at=AT, cluster="east")
    both = transitions.fenced_on_return(back, at=AT)
    assert (both.phase, both.roles.of("west")) == (Phase.DIVERGED, Role.DIVERGED)
    for state in (first, copied, second, back, both):
        assert RegisterState.from_json(state.to_json()) == state


def test_a_standby_that_holds_more_than_the_active_cluster_is_diverged_and_no_target() -> None:
    first = given_up(THREE, "west", "run-1")
    found = transitions.holds_more(first, "north")
    assert (found.phase, found.roles.of("north"), found.revision) == (
        Phase.UNFENCED,
        Role.DIVERGED,
        first.revision + 1,
    )
    with pytest.raises(Refused):
        given_up(found, "north", "run-2")
    with pytest.raises(Refused, match="east does not wait for a flow"):
        transitions.holds_more(first, "east")


def test_a_pair_that_has_lost_its_active_cluster_needs_a_failback_first() -> None:
    lost = given_up(a_state(), "west", "run-1")
    assert (lost.epoch, lost.is_at_rest, a_state().is_at_rest) == (1000, False, True)
    with pytest.raises(Refused, match="run a failback first"):
        given_up(lost, "east", "run-2")


def test_a_planned_failover_passes_a_diverged_standby_and_never_an_unfenced_one() -> None:
    """East was lost and is back; north is copied from west, and the group is moved there before east's failback."""
    lost = transitions.copied_again(given_up(THREE, "west", "run-1"), "north")
    assert (lost.phase, VERBS["planned_failover"].may_take(lost)) == (Phase.UNFENCED, False)
    with pytest.raises(Refused, match="only an unplanned failover may move it"):
        switched(lost, "north")
    fenced = transitions.fenced_on_return(lost, at=AT, cluster="east")
    assert (fenced.phase, VERBS["planned_failover"].may_take(fenced)) == (Phase.DIVERGED, True)
    with pytest.raises(Refused, match="east holds no copy of orders: choose north"):
        switched(fenced, "east")
    claimed, handed_over, settled = switched(fenced, "north")
    assert [roles_of(each) for each in (claimed, handed_over, settled)] == [
        ("diverged", "active", "copy"),
        ("diverged", "pending", "active"),
        ("diverged", "copy", "active"),
    ]
    assert (settled.phase, settled.run_phase, settled.roles.given_up) == (Phase.DIVERGED, Phase.STABLE, ("east",))
    back = transitions.rolled_back(claimed, run="run-2", at=AT)
    assert (roles_of(back), back.phase, back.run_phase) == (
        ("diverged", "active", "copy"),
        Phase.DIVERGED,
        Phase.STABLE,
    )
    for state in (claimed, handed_over, settled, back):
        assert RegisterState.from_json(state.to_json()) == state
    # Its failback can come after it, and no planned failover comes before it ends.
    begun = transitions.failback_begun(settled, standby="east", **{**APPROVED, "run": "repair"})
    assert not VERBS["planned_failover"].may_take(begun)
    with pytest.raises(Refused, match="wait until that failback ends"):
        switched(begun, "west")
    ended = transitions.failed_back(begun, run="repair", quarantine=(), at=AT)
    assert (ended.phase, ended.roles.copies) == (Phase.STABLE, ("east", "west"))


def test_a_pair_whose_standby_is_diverged_is_not_moved() -> None:
    assert not VERBS["planned_failover"].may_take(DIVERGED)
    assert not DIVERGED.is_at_rest_and_fenced
