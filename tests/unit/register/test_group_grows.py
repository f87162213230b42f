"""A pair gets a third cluster while two Airflows may move it, of which one does not know of that: one wins at most.

The third cluster is added by what the product writes, and made a copy by what ``dr_flows`` writes. Each actor waits for
its turn before each question to a register.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_dr.adoption.add_standby import set_in_order
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.health.desired_state import stale_registers
from kafka_dr.register import Phase, RegisterState, highest, transitions
from kafka_dr.register.membership import joined
from kafka_dr.register.roles import Role
from kafka_dr.runs.register_read import decided, require_declared
from kafka_dr.watch.pending_standbys import now_a_copy
from support.moving_registers import Mover, MovesAsPlanned, MovesWithoutSource, MovingRegisters, started
from support.register_states import AT

PAIR, THREE = ("east", "west"), ("east", "north", "west")
BEFORE = transitions.adopted("orders", active="east", standbys=["west"], run="adoption", at=AT)
PENDING = joined(BEFORE, "north")
SIGNED: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}


class Grows(Mover):
    """``dr_adopt``, then ``dr_flows``."""

    def go(self) -> None:
        set_in_order(self.register, BEFORE, PENDING)
        self.make_it_a_copy()

    def make_it_a_copy(self) -> None:
        found = require_declared(decided("orders", self.answers()), self.knows)
        if found is None or found.roles.of("north") is not Role.PENDING or not found.is_at_rest:
            return

        def unchanged() -> None:
            if decided("orders", self.answers()) != found:
                raise Refused("the record has changed")

        clients = SimpleNamespace(register=self.register)
        guard = SimpleNamespace(require=unchanged)
        now_a_copy(cast("Any", SimpleNamespace(clients=clients, guard_by_all=lambda _: guard)), found, "north")


class LooksAndCopies(Grows):
    """``dr_health``, then ``dr_flows``: both find a record that a process that died has left."""

    def go(self) -> None:
        states = {name: each for name, each in self.answers().items() if not isinstance(each, KafkaDrError)}
        newest = highest(states)
        assert newest is not None
        for name in stale_registers(newest, states):
            with suppress(TryAgain):
                self.register(name).copy(newest)
        self.make_it_a_copy()


@pytest.fixture(autouse=True)
def _one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_each(ask: Any, names: Collection[str]) -> None:
        for name in names:
            with suppress(TryAgain):
                ask(name)

    monkeypatch.setattr("kafka_dr.watch.pending_standbys.parallel", SimpleNamespace(ask_each=ask_each))


REACHES = [frozenset(THREE), *(frozenset(THREE) - {name} for name in THREE)]
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@given(
    turns=st.lists(st.integers(0, 4), max_size=90),
    reached=st.fixed_dictionaries(
        {name: st.sampled_from(REACHES) for name in ("grows", "looks", "old", "new", "planned")}
    ),
    old_moves=st.sampled_from(["old", "planned"]),
    filled=st.booleans(),
)
@settings(max_examples=400, deadline=None, suppress_health_check=SLOW)
def test_two_airflows_of_which_one_knows_of_the_new_standby_open_one_cluster_at_most(
    turns: list[int], reached: Mapping[str, Collection[str]], old_moves: str, filled: bool
) -> None:
    world = MovingRegisters(dict.fromkeys(PAIR, BEFORE))
    if filled:
        # dr_health has brought it the record that does not name it.
        world.each["north"].copy(BEFORE)
    knows = {name: PAIR if name == old_moves else THREE for name in ("old", "planned")}
    actors: list[Mover] = [
        Grows("grows", world, reaches=reached["grows"]),
        LooksAndCopies("looks", world, reaches=reached["looks"]),
        MovesWithoutSource("old", world, knows["old"], reached["old"]),
        MovesWithoutSource("new", world, reaches=reached["new"], target="north"),
        MovesAsPlanned("planned", world, knows["planned"], reached["planned"]),
    ]
    with started(world, actors):
        for number in turns:
            if not actors[number].ended:
                world.turns.next(actors[number].name)
    assert len({*world.opened}) <= 1, f"I1: {world.opened} are open"
    active = {state.active for state in world.held.values() if state and state.phase is Phase.HANDED_OVER}
    assert {*world.opened} <= active


def test_no_failover_goes_to_it_before_the_register_of_each_other_cluster_names_it() -> None:
    """The process that adds it dies after it has set the register that decides, and west is cut off from all others."""
    world = MovingRegisters(dict.fromkeys(PAIR, BEFORE))
    world.each["north"].copy(BEFORE)
    world.each["east"].compare_and_set(BEFORE, PENDING)
    looks = LooksAndCopies("looks", world, reaches={"east", "north"})
    new = MovesWithoutSource("new", world, reaches={"east", "north"}, target="north")
    old = MovesWithoutSource("old", world, PAIR, {"west"})
    for each in (looks, new, old):
        with started(world, [each]):
            while not each.ended:
                world.turns.next(each.name)
    assert "west does not answer" in str(looks.error)
    assert world.held["north"] == PENDING
    assert "holds no copy of orders" in str(new.error)
    assert world.opened == ["west"], old.error


def test_a_process_whose_topology_lacks_a_cluster_of_the_record_moves_nothing() -> None:
    with pytest.raises(NeedsPerson, match="does not declare north for it: nothing is changed from here"):
        require_declared(PENDING, PAIR)
    assert require_declared(PENDING, THREE) == PENDING
    assert require_declared(BEFORE, THREE) == BEFORE
    assert require_declared(None, THREE) is None


@pytest.mark.parametrize(("adopted", "declared"), [("", "."), (".", ""), (".", "-")])
def test_a_topology_that_names_copies_otherwise_than_the_adoption_changes_nothing(adopted: str, declared: str) -> None:
    state = replace(BEFORE, copies_named=adopted)
    assert RegisterState.from_json(state.to_json()) == state
    with pytest.raises(NeedsPerson, match="was adopted with copies that"):
        require_declared(state, THREE, declared)
    assert require_declared(state, THREE, adopted) == state
    assert require_declared(replace(state, phase=Phase.RELEASED), THREE, declared) is not None
