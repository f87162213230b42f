"""Two unplanned claims that do not see each other, for two standbys, in every order: one wins at most, and says so.

Each actor is a thread that waits for its turn before each question to a register, so that a list of turns is an
interleaving. What an actor does after it has won is reduced to the hand-over, which most registers have to hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.register import Phase, Register, RegisterConflict, RegisterState, highest, transitions
from kafka_dr.register.most_registers import named, require_most, win, withdraw
from kafka_dr.register.state import is_on_majority
from support.memory_register import MemoryRegister
from support.register_states import AT
from support.turns import Turns

THREE = ("east", "north", "west")
STABLE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
NOBODY_IS_OFF = ""


@dataclass
class Claimer:
    """A process of a run that takes the group to a standby, and hands it over."""

    run: str
    target: str
    world: ThreeRegisters
    reaches: Collection[str] = THREE
    off: str = NOBODY_IS_OFF
    executor: str = "a process"
    name: str = ""
    #: What it has come to, in order: ``won`` and ``opened``.
    did: list[str] = field(default_factory=list)
    error: Exception | None = None

    def ask(self, cluster: str, question: Callable[[Register], Any]) -> Any:
        if self.name:
            self.world.turns.wait(self.name)
        if cluster not in self.reaches or cluster in self.world.down:
            raise TryAgain(f"{cluster} does not answer")
        return question(self.world.registers[cluster])

    def seen(self) -> dict[str, RegisterState | None]:
        found = {}
        for name in THREE:
            with suppress(TryAgain):
                found[name] = self.ask(name, lambda register: register.read("orders"))
        return found

    def claim(self, seen: Mapping[str, RegisterState | None]) -> tuple[RegisterState, RegisterState]:
        known = highest(dict(seen))
        assert known is not None
        if known.is_unproven and known.run == self.run:
            return known, known
        others = [each.epoch for each in seen.values() if each is not None and each.run != self.run]
        signed: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}
        return known, transitions.claimed_unplanned(
            known, run=self.run, source="east", target=self.target, highest_epoch=max(others, default=0), **signed
        )

    def act(self) -> None:
        try:
            self.go()
        except Refused as error:
            self.error = error
        except TryAgain as error:
            self.error = error

    def go(self) -> None:
        seen = self.seen()
        known, claim = self.claim(seen)
        win(claim, known, seen, self.ask, off=self.off)
        taken = transitions.taken(claim, run=self.run, executor=self.executor, at=AT)
        self.ask(self.target, lambda register: register.compare_and_set(claim, taken))
        self.did.append("won")
        moved = transitions.handed_over(taken, run=self.run, at=AT)
        self.ask(self.target, lambda register: register.compare_and_set(taken, moved))
        held = {}
        for name in THREE:
            with suppress(TryAgain):
                held[name] = self.ask(name, lambda register: register.copy(moved))
        require_most(moved, held, off=self.off)
        self.did.append("opened")


@dataclass
class ThreeRegisters:
    """The registers of three clusters, and who asks them."""

    registers: dict[str, MemoryRegister] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    turns: Turns = field(default_factory=Turns)

    def __post_init__(self) -> None:
        self.registers = {name: MemoryRegister() for name in THREE}
        for register in self.registers.values():
            register.copy(STABLE)

    @property
    def held(self) -> dict[str, RegisterState | None]:
        return {name: register.read("orders") for name, register in self.registers.items()}

    @property
    def decided(self) -> RegisterState:
        found = highest({name: state for name, state in self.held.items() if name not in self.down})
        assert found is not None
        return found


@contextmanager
def started(world: ThreeRegisters, claimers: Sequence[Claimer]) -> Iterator[None]:
    """Let each claimer continue when it has its turn; in the end all that are left come to their end, or die."""
    threads = []
    for number, each in enumerate(claimers):
        each.name = f"{each.run}-{number}"
        threads.append(world.turns.start(each.name, each.act))
    try:
        yield
    finally:
        for each, thread in zip(claimers, threads, strict=True):
            while thread.is_alive():
                world.turns.wakes[each.name].release()
                thread.join(0.001)


def turn(world: ThreeRegisters, claimer: Claimer) -> None:
    world.turns.next(claimer.name)


#: What each of two Airflows may reach: all, or without one cluster.
REACHES = [frozenset(THREE), frozenset(THREE) - {"east"}, frozenset({"east", "west"}), frozenset({"east", "north"})]


@given(
    turns=st.lists(st.integers(0, 1), max_size=40),
    first=st.sampled_from([each for each in REACHES if "west" in each]),
    second=st.sampled_from([each for each in REACHES if "north" in each]),
)
@settings(max_examples=300, deadline=None)
def test_two_airflows_that_claim_for_two_targets_open_one_at_most(
    turns: list[int], first: Collection[str], second: Collection[str]
) -> None:
    world = ThreeRegisters()
    claimers = [Claimer("a", "west", world, first), Claimer("b", "north", world, second)]
    with started(world, claimers):
        for number in turns:
            alive = claimers[number]
            if alive.error is None and "opened" not in alive.did:
                turn(world, alive)
    opened = [each for each in claimers if "opened" in each.did]
    assert len(opened) <= 1, "I1: two standbys are opened"
    for each in opened:
        assert (world.decided.run, world.decided.phase) == (each.run, Phase.HANDED_OVER)
    if not any(each.did for each in claimers):
        assert world.decided == STABLE, "two that have lost leave the group as it was"


@pytest.mark.parametrize("start", ["a", "b"])
def test_of_two_that_claim_at_once_a_loser_leaves_no_trace(start: str) -> None:
    """Both have read before either has set a register; then they set them in turn."""
    for begun in range(4, 12):
        world = ThreeRegisters()
        both = {
            "a": Claimer("a", "west", world, {"west", "north"}),
            "b": Claimer("b", "north", world, {"east", "north"}),
        }
        with started(world, list(both.values())):
            for each in both.values():
                for _ in range(3):
                    turn(world, each)
            for _ in range(begun):
                if both[start].error is None and "opened" not in both[start].did:
                    turn(world, both[start])
        lost = [each for each in both.values() if each.error is not None and not each.did]
        for each in lost:
            assert isinstance(each.error, Refused)
            assert all(state is None or state.run != each.run for state in world.held.values()), "a trace of a loser"


@pytest.mark.parametrize("down", [(), ("east",)])
@pytest.mark.parametrize("steps", range(14))
def test_a_claimer_that_dies_anywhere_leaves_what_the_same_run_another_run_or_a_person_continues(
    down: tuple[str, ...], steps: int
) -> None:
    def died() -> ThreeRegisters:
        world = ThreeRegisters(down={*down})
        claimer = Claimer("a", "west", world)
        with started(world, [claimer]):
            for _ in range(steps):
                if "opened" not in claimer.did and claimer.error is None:
                    turn(world, claimer)
            world.turns.dead.add(claimer.name)
        return world

    world = died()
    won = any(state is not None and state.run == "a" and not state.is_unproven for state in world.held.values())
    if won:
        # Its process has taken the run: it is finished or rolled back as that of a pair.
        assert (world.decided.run, world.decided.epoch) == ("a", 1003)
        return
    again = Claimer("a", "west", world, executor="another process")
    again.act()
    assert again.did == ["won", "opened"], again.error

    world = died()
    other = Claimer("b", "north", world)
    other.act()
    assert other.did == ["won", "opened"], other.error
    assert world.decided.run == "b"

    world = died()
    person = Claimer("a", "west", world)
    claim = next((state for state in world.held.values() if state is not None and state.is_unproven), None)
    if claim is not None and is_on_majority(claim, world.held) and world.held["west"] == claim:
        # It has won: it is rolled back as that of a pair, in the register that decides.
        assert not withdraw(claim, person.seen(), person.ask)
        undone = transitions.rolled_back(claim, run="a", at=AT)
        world.registers["west"].compare_and_set(claim, undone)
        assert world.decided == undone
        return
    if claim is not None:
        assert withdraw(claim, person.seen(), person.ask)
    assert world.decided == STABLE
    assert {name for name, state in world.held.items() if state == STABLE} == {*THREE}


def test_fewer_than_a_majority_needs_each_missing_cluster_to_be_known_to_be_off() -> None:
    world = ThreeRegisters(down={"east", "north"})
    for off, opens in (("", False), ("east is off", False), ("east and north are off.", True)):
        claimer = Claimer("a", "west", world, off=off)
        claimer.act()
        assert (claimer.did == ["won", "opened"]) is opens, off
        if not opens:
            assert "east and north do not: bring them back" in str(claimer.error)
            assert world.registers["west"].read("orders") == STABLE


def test_an_override_does_not_name_a_cluster_whose_register_says_otherwise() -> None:
    world = ThreeRegisters(down={"east"})
    claim = Claimer("a", "west", world).claim(Claimer("a", "west", world).seen())[1]
    world.registers["west"].compare_and_set(STABLE, claim)
    with pytest.raises(Refused, match="more than half have to"):
        require_most(claim, {"west": claim, "north": STABLE}, off="east and north are off")


def test_a_register_that_comes_back_with_an_older_epoch_never_decides() -> None:
    world = ThreeRegisters(down={"east"})
    Claimer("a", "west", world).act()
    world.down.clear()
    assert world.held["east"] == STABLE
    assert (world.decided.active, world.decided.run) == ("west", "a")


def test_what_a_dead_loser_left_with_a_higher_epoch_decides_nothing_and_is_replaced() -> None:
    world = ThreeRegisters()
    seen = Claimer("a", "west", world).seen()
    _, loser = Claimer("a", "west", world).claim(seen)
    winner = Claimer("b", "north", world, {"west", "north"})
    assert loser.epoch > winner.claim(seen)[1].epoch
    # Run a is killed after it has set one register, and run b does not see that one.
    world.registers["east"].compare_and_set(STABLE, loser)
    winner.act()
    assert winner.did == ["won", "opened"], winner.error
    for silent in (set[str](), {"east"}, {"west"}):
        world.down = silent
        assert (world.decided.run, world.decided.active) == ("b", "north")
    world.down = set()
    assert world.registers["east"].copy(world.decided) == world.decided
    assert world.held["east"] == world.decided


def test_a_claim_that_another_process_of_the_run_has_taken_is_not_withdrawn() -> None:
    world = ThreeRegisters()
    claimer = Claimer("a", "west", world)
    known, claim = claimer.claim(seen := claimer.seen())
    win(claim, known, seen, claimer.ask, off="")
    taken = transitions.taken(claim, run="a", executor="another", at=AT)
    world.registers["west"].compare_and_set(claim, taken)
    assert not withdraw(claim, seen, claimer.ask)
    assert world.held == {"east": claim, "north": claim, "west": taken}
    assert world.decided == taken


def test_another_run_that_was_first_is_a_conflict_and_nothing_is_set() -> None:
    world = ThreeRegisters()
    late = Claimer("b", "north", world)
    seen = late.seen()
    known, claim = late.claim(seen)
    Claimer("a", "west", world).act()
    before = world.held
    with pytest.raises(RegisterConflict):
        win(claim, known, seen, late.ask, off="")
    assert world.held == before


@pytest.mark.parametrize(
    ("words", "found"),
    [("east, north", True), ("north and east.", True), ("northeast", False), ("north-2 east", False), ("", False)],
)
def test_a_cluster_is_named_by_a_word_of_its_own(words: str, found: bool) -> None:
    assert named(["east", "north"], words) is found


def test_epochs_of_claims_for_two_targets_differ_and_a_pair_keeps_the_multiple() -> None:
    world = ThreeRegisters()
    found = {name: Claimer("a", name, world).claim(world.held)[1].epoch for name in ("west", "north")}
    assert found == {"west": 1003, "north": 1002}
    pair = transitions.adopted("orders", active="east", standbys=["west"], run="adoption", at=AT)
    signed: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}
    claimed = transitions.claimed_unplanned(pair, run="a", source="east", target="west", highest_epoch=1, **signed)
    assert claimed.epoch == 1000


def test_all_pairs_of_answers_leave_a_claim_that_may_have_won_in_charge() -> None:
    world = ThreeRegisters()
    claimer = Claimer("a", "west", world)
    known, claim = claimer.claim(seen := claimer.seen())
    win(claim, known, seen, claimer.ask, off="")
    for silent in itertools.chain([None], THREE):
        assert highest({name: state for name, state in world.held.items() if name != silent}) == claim
    # In one register alone, and two others say otherwise, it has not won.
    assert highest({"west": claim, "east": STABLE, "north": STABLE}) == STABLE
    assert highest({"west": claim, "north": STABLE}) == claim
