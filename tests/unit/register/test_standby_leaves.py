"""One standby of three leaves a group, while Airflows that do not see each other claim it: one cluster is opened."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_dr.adoption.un_adopt import leave
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.register import Phase, RegisterState, transitions
from kafka_dr.register.membership import joined, leaving, left, stayed, why_it_stays
from kafka_dr.register.roles import Role
from support.moving_registers import Mover, MovesAsPlanned, MovesWithoutSource, MovingRegisters, started
from support.register_states import AT

SIGNED: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}
THREE = ("east", "north", "west")
BEFORE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


def leaves(state: RegisterState, standby: str, run: str = "leaves") -> RegisterState:
    return leaving(state, standby=standby, run=run, **SIGNED)


WITHOUT_NORTH = left(leaves(BEFORE, "north"), run="leaves", opened=True, at=AT)


class Leaves(Mover):
    """A run by which north leaves, as its steps write to the registers."""

    def go(self) -> None:
        known = self.decided()
        claim = leaves(known, "north", run=self.name)
        self.register("east").compare_and_set(known, claim)
        self.most(claim)
        with suppress(TryAgain):
            self.register("north").copy(claim)
        without = left(claim, run=self.name, opened=True, at=AT)
        self.register("east").compare_and_set(claim, without)
        self.most(without)
        self.world.opened_for_good.append("north")

    def most(self, state: RegisterState) -> None:
        for name in ("east", "west"):
            with suppress(TryAgain):
                self.register(name).copy(state)
        held = {name: self.register(name).read("orders") for name in ("east", "west")}
        if any(found != state for found in held.values()):
            raise Refused("too few registers hold it")


REACHES = [frozenset(THREE), *(frozenset(THREE) - {name} for name in THREE), frozenset({"west"}), frozenset({"north"})]


@given(
    turns=st.lists(st.integers(0, 3), max_size=90),
    reached=st.fixed_dictionaries({name: st.sampled_from(REACHES) for name in ("leaves", "a", "b", "planned")}),
)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_claims_that_know_and_do_not_know_of_it_open_one_cluster_at_most(
    turns: list[int], reached: Mapping[str, Collection[str]]
) -> None:
    world = MovingRegisters(dict.fromkeys(THREE, BEFORE))
    movers: list[Mover] = [
        Leaves("leaves", world, reaches=reached["leaves"]),
        MovesWithoutSource("a", world, reaches=reached["a"], target="west"),
        MovesWithoutSource("b", world, reaches=reached["b"], target="north"),
        MovesAsPlanned("planned", world, reaches=reached["planned"]),
    ]
    with started(world, movers):
        for number in turns:
            if not movers[number].ended:
                world.turns.next(movers[number].name)
    assert len({*world.opened, *world.opened_for_good}) <= 1 or world.opened == ["west"], world.opened
    if world.opened_for_good:
        assert "north" not in world.opened, "a cluster has left, and was moved to"


def test_it_leaves_in_the_end_and_the_target_of_a_pair_decides_alone_then() -> None:
    world = MovingRegisters(dict.fromkeys(THREE, BEFORE))
    runs = Leaves("leaves", world)
    with started(world, [runs]):
        while not runs.ended:
            world.turns.next("leaves")
    assert runs.error is None
    state = world.held["west"]
    assert state is not None
    assert (state.phase, dict(state.roles.each)) == (Phase.STABLE, {"east": Role.ACTIVE, "west": Role.COPY})
    assert (state.gone, state.partner, state.epoch) == (("north",), "", 2)
    assert RegisterState.from_json(state.to_json()) == state
    alone = MovesWithoutSource("alone", world, reaches={"west"}, target="west")
    with started(world, [alone]):
        while not alone.ended:
            world.turns.next("alone")
    assert world.opened == ["west"], alone.error
    assert joined(state, "north").gone == ()


def without_source(target: str = "west") -> RegisterState:
    """East has died, and the group was moved away from it."""
    claim = transitions.claimed_unplanned(BEFORE, run="run-1", source="east", target=target, highest_epoch=1, **SIGNED)
    moved = transitions.handed_over(claim, run="run-1", at=AT)
    return transitions.without_source(moved, run="run-1", fenced=False, at=AT + timedelta(minutes=1))


def test_a_lost_cluster_leaves_and_the_group_is_stable_without_it() -> None:
    copied = transitions.copied_again(without_source(), "north")
    claim = leaves(copied, "east")
    assert RegisterState.from_json(claim.to_json()) == claim
    assert (claim.roles, claim.phase) == (copied.roles, Phase.RELEASING)
    assert stayed(claim, run="leaves", at=AT).phase is Phase.UNFENCED
    assert stayed(claim, run="leaves", at=AT).roles == copied.roles
    found = left(claim, run="leaves", opened=False, at=AT)
    assert (found.phase, found.gone, found.active, found.standby) == (Phase.STABLE, (), "west", "north")


@pytest.mark.parametrize(
    ("state", "standby", "why"),
    [
        (BEFORE, "east", "east is active of orders: choose north and west"),
        (BEFORE, "rome", "rome is none of the clusters of orders"),
        (
            left(leaves(BEFORE, "north"), run="leaves", opened=True, at=AT),
            "west",
            "no standby of orders holds the copy",
        ),
        (without_source(), "east", "no standby of orders holds the copy"),
        (transitions.copied_again(without_source(), "north"), "north", "no standby of orders holds the copy"),
    ],
)
def test_never_the_active_one_nor_the_last_that_holds_the_copy(state: RegisterState, standby: str, why: str) -> None:
    assert why in why_it_stays(state, standby)
    with pytest.raises(Refused, match=why[:20]):
        leaves(state, standby)


def test_nothing_is_claimed_while_a_run_holds_the_group() -> None:
    with pytest.raises(Refused, match="releasing by run leaves"):
        leaves(leaves(BEFORE, "north"), "west", run="another")
    for target in ("west", "north"):
        with pytest.raises(Refused, match="releasing by run leaves"):
            transitions.claimed_unplanned(
                leaves(BEFORE, "north"), run="a", source="east", target=target, highest_epoch=1, **SIGNED
            )


def test_a_claim_that_west_holds_already_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run has taken the group to north in the registers of north and west, and east did not hear of it.

    If the record without north were set on east now, another run would count by it: it would open west with the
    register of west alone.
    """
    world = MovingRegisters(dict.fromkeys(THREE, BEFORE))
    other = MovesWithoutSource("other", world, reaches={"north", "west"}, target="north")
    with started(world, [other]):
        while (held := world.held["west"]) is None or not held.is_unproven:
            world.turns.next("other")
    context = SimpleNamespace(leaving="north", is_off=False)
    monkeypatch.setattr(leave, "ReleaseContext", lambda _: context)
    clients = SimpleNamespace(register=world.each.__getitem__)
    run = cast("Any", SimpleNamespace(clients=clients, source="east", group=SimpleNamespace(name="orders")))
    claim = leaves(BEFORE, "north")
    with pytest.raises(TryAgain, match="only 1 of the 3 registers that decide now"):
        leave.claim(run, BEFORE, claim)
    assert world.held["east"] == claim, "the group is held there, so nobody claims it by that register"
    assert world.held["west"] != claim
