"""Two runs, several processes of each, roll backs, and steps that run too late, in every order: one changes a group.

Each actor is a process, as a generator that does one thing at a time (a read, a compare-and-set, a fact, an ACL change
after its permission) and is interrupted in between. ACLs are reduced to what matters here: is a cluster fenced. Of the
facts there is one, ``target_ends``, whose value is the process that wrote it.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, arbiter, highest, transitions
from kafka_dr.register.holding import Author, HeldBy
from kafka_dr.register.roles import Role
from kafka_dr.register.state import is_on_majority
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.request import StepName
from kafka_dr.runs.step_order import turn_of
from support.memory_register import MemoryRegister
from support.register_states import AT

Actor = Generator[None, None, None]
PAIR, THREE = ("east", "west"), ("east", "north", "west")
GROUPS = pytest.mark.parametrize("clusters", [PAIR, THREE], ids=["a pair", "two standbys"])
#: Where each run takes a group with several standbys, unless it is there.
TARGETS = {"a": "west", "b": "north"}


@dataclass
class Datacenters:
    """A register and a fence on each cluster; the invariants are checked after every change."""

    clusters: tuple[str, ...] = PAIR
    registers: dict[str, MemoryRegister] = field(default_factory=dict)
    fenced: set[str] = field(default_factory=set)
    seen: dict[tuple[int, int], RegisterState] = field(default_factory=dict)
    before: dict[str, RegisterState] = field(default_factory=dict)
    #: By run: what the source's register held as target_ends when the run was handed over.
    final: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.registers = {name: MemoryRegister() for name in self.clusters}
        self.fenced = set(self.clusters[1:])
        for register in self.registers.values():
            register.copy(transitions.adopted("orders", active="east", standbys=self.clusters[1:], run="r", at=AT))
        self.check()

    def all(self) -> tuple[object, ...]:
        """Everything that counts: the fences, the newest record, and the facts as a run reads them.

        In the register that does not decide, what the other one holds may arrive late.
        """
        decides = arbiter(self.standing)
        facts: dict[str, Any] = {}
        for name in sorted(self.registers, key=lambda name: name == decides):
            facts |= self.registers[name].history("orders")
        return (set(self.fenced), self.standing, facts)

    @property
    def standing(self) -> RegisterState:
        found = highest({name: register.read("orders") for name, register in self.registers.items()})
        assert found is not None
        return found

    def check(self) -> None:
        assert len(self.fenced) >= len(self.clusters) - 1, "I1: two clusters take writes"
        for name, register in self.registers.items():
            state = register.read("orders")
            assert state is not None
            assert self.seen.setdefault(state.order, state) == state, "two records of the same order"
            if name in self.before and state != self.before[name]:
                assert state.order > self.before[name].order, "a register went back"
            self.before[name] = state
            if state.phase is Phase.HANDED_OVER:
                found = register.facts("orders", state.run).get("target_ends")
                assert self.final.setdefault(state.run, found) == found, "target_ends changed after the hand-over"

    def read(self) -> Generator[None, None, RegisterState]:
        """Read all registers, one after the other."""
        read: dict[str, RegisterState | None] = {}
        for name, register in self.registers.items():
            if read:
                yield
            read[name] = register.read("orders")
        found = highest(read)
        assert found is not None
        return found


def forward(world: Datacenters, run: str, process: str = "a process") -> Actor:
    """Run from the register's state of the run to its end, as a process that takes the run first."""
    executor = Executor(process)
    state = yield from world.read()
    if turn_of(StepName.CLAIM, run, state).verdict == "its_turn" and state.phase is Phase.STABLE:
        arbiter, wanted = state.active, TARGETS[run]
        target = wanted if wanted in state.standbys else state.standbys[0]
        new = transitions.claimed(
            state, run=run, verb="planned_failover", source=arbiter, target=target,
            highest_epoch=state.epoch, evidence_sha256="", approved_by="alice", at=AT,
        )  # fmt: skip
        yield
        world.registers[arbiter].compare_and_set(state, new)
        yield
        world.registers[target].copy(new)
        yield
        state = yield from world.read()
    if turn_of(StepName.OPEN_TARGET, run, state).verdict == "its_turn":
        yield
        state = executor.take(state, world.registers[state.active], lambda: AT)
        yield
        yield from hand_over(world, run, state)
    state = yield from world.read()
    if turn_of(StepName.START_REVERSE_FLOW, run, state).verdict == "its_turn":
        yield
        state = executor.take(state, world.registers[state.active], lambda: AT)
        new = state if state.phase is Phase.STABLE else transitions.settled(state, run=run, at=AT)
        yield
        world.registers[state.active].compare_and_set(state, new)
        for cluster in state.standbys:
            yield
            world.registers[cluster].copy(new)


def hand_over(world: Datacenters, run: str, state: RegisterState) -> Actor:
    if turn_of(StepName.FENCE_SOURCE, run, state).verdict == "its_turn":
        permit(world, state.active, state)
        world.fenced.add(state.active)
        yield
        yield from journal(world, state)
        if state.active not in world.fenced:
            raise Refused("the source is not fenced")
        yield
        new = transitions.handed_over(state, run=run, at=AT)
        world.registers[state.active].compare_and_set(state, new)
        yield
        state = new
    if turn_of(StepName.OPEN_TARGET, run, state).verdict == "its_turn":
        if world.registers[state.active].copy(state) != state:
            raise Refused("another process continues the run")
        for name in sorted({*state.standbys} - {state.standby}):
            yield
            world.registers[name].copy(state)
        yield
        held = {name: register.read("orders") for name, register in world.registers.items()}
        if not is_on_majority(state, held):
            raise Refused("too few registers hold the hand-over")
        permit(world, state.active, state)
        world.fenced.discard(state.active)
        yield


def journal(world: Datacenters, state: RegisterState) -> Actor:
    """Journal target_ends: where the register decides, then in the others."""
    for cluster in (state.active, *state.standbys):
        author = Author(state.run, state.epoch, state.attempt, holds=cluster == state.active)
        world.registers[cluster].write_fact("orders", state.run, "target_ends", {"by": state.executor}, by=author)
        yield


def back(world: Datacenters, run: str, process: str = "a process") -> Actor:
    """Roll a run back."""
    state = yield from world.read()
    if state.run != run:
        return
    if state.verb != "roll_back":
        new = transitions.rolled_back(state, run=run, at=AT, executor=process)
        yield
        world.registers[state.active].compare_and_set(state, new)
        yield
        state = new
    else:
        yield
        state = Executor(process).take(state, world.registers[state.active], lambda: AT)
        yield
    permit(world, state.active, state)
    world.fenced.discard(state.active)
    yield
    permit(world, state.active, state)
    world.fenced.add(state.moved_with)
    yield
    world.registers[state.moved_with].copy(state)


def follow(world: Datacenters, run: str, process: str = "a process") -> Actor:
    """Say of each standby that waits for a flow that it is a copy, as ``dr_flows`` does when that flow runs."""
    state = yield from world.read()
    for standby in state.standbys if state.phase is Phase.STABLE else ():
        if len(state.standbys) > 1 and state.roles.of(standby) is Role.PENDING:
            new = transitions.copied_again(state, standby)
            yield
            world.registers[state.active].compare_and_set(state, new)
            for cluster in state.standbys:
                yield
                world.registers[cluster].copy(new)
            state = new


def permit(world: Datacenters, arbiter: str, state: RegisterState) -> None:
    found = world.registers[arbiter].read("orders")
    if found is None or not HeldBy(state.run, state.epoch, state.phase, state.attempt).permits(found):
        raise Refused("the register says otherwise")


def advance(world: Datacenters, actor: Actor, *, steps: int = 1000) -> bool:
    """Let an actor take so many steps, and return whether it is done."""
    for _ in range(steps):
        try:
            next(actor)
        except (StopIteration, Refused):
            return True
        finally:
            world.check()
    return False


FORWARD = max(sum(1 for _ in forward(Datacenters(clusters), "a")) for clusters in (PAIR, THREE))
ACTORS = [
    *((forward, "a"), (forward, "a"), (back, "a"), (back, "a"), (forward, "b"), (back, "b"), (forward, "b")),
    (follow, ""),
]


@GROUPS
@given(turns=st.lists(st.integers(0, len(ACTORS) - 1), max_size=120))
@settings(max_examples=400, deadline=None)
def test_no_interleaving_opens_two_clusters_or_lets_an_order_fall(clusters: tuple[str, ...], turns: list[int]) -> None:
    world = Datacenters(clusters)
    names, processes = itertools.count(), [""] * len(ACTORS)

    def start(number: int) -> Actor:
        make, run = ACTORS[number]
        processes[number] = f"process {next(names)}"
        return make(world, run, processes[number])

    actors, took = [start(number) for number in range(len(ACTORS))], dict[str, RegisterState]()
    for turn in turns:
        owner, before, process = world.standing, world.all(), processes[turn]
        make, run = ACTORS[turn]
        over = make is forward and owner.run == run and owner.verb == "roll_back"
        mine = took.get(process)
        lost = mine is not None and (owner.epoch, owner.attempt) != (mine.epoch, mine.attempt)
        if advance(world, actors[turn], steps=1):
            actors[turn] = start(turn)
        if over or lost:
            assert world.all() == before, "a zombie changed something"
        took[world.standing.executor] = world.standing


@GROUPS
@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_a_process_that_stops_anywhere_and_wakes_when_another_has_continued_changes_nothing(
    clusters: tuple[str, ...], prefix: int
) -> None:
    for length in itertools.count(1):
        world = Datacenters(clusters)
        sleeper = forward(world, "a", "sleeper")
        advance(world, sleeper, steps=prefix)
        took = world.standing.executor == "sleeper"
        done = advance(world, forward(world, "a", "another"), steps=length)
        taken = world.standing.executor == "another"
        before = world.all()
        advance(world, sleeper)
        assert world.all() == before or not (took and taken), "a zombie changed something"
        advance(world, forward(world, "a", "a third"))
        assert (world.standing.phase, world.standing.active, world.fenced) == (
            Phase.STABLE,
            "west",
            {*clusters} - {"west"},
        )
        if done:
            return


@GROUPS
@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_from_every_interrupted_prefix_a_run_is_either_rolled_back_or_finished(
    clusters: tuple[str, ...], prefix: int
) -> None:
    world = Datacenters(clusters)
    zombie = forward(world, "a")
    advance(world, zombie, steps=prefix)
    claimed = world.standing.run == "a"
    advance(world, back(world, "a"))
    undone = world.standing.verb == "roll_back"
    if undone or not claimed:
        assert (world.standing.phase, world.standing.active, world.fenced) == (
            Phase.STABLE,
            "east",
            {*clusters} - {"east"},
        )
    if undone:
        standing = world.standing
        advance(world, zombie)
        assert (world.standing, world.fenced) == (standing, {*clusters} - {"east"}), "a zombie changed something"
        advance(world, forward(world, "b"))
    else:
        advance(world, forward(world, "a"))
    there = TARGETS[world.standing.run] if clusters == THREE else "west"
    assert (world.standing.phase, world.standing.active, world.fenced) == (Phase.STABLE, there, {*clusters} - {there})


@GROUPS
@pytest.mark.parametrize("undone", range(8))
@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_an_interrupted_roll_back_is_run_again_to_the_same_end(
    clusters: tuple[str, ...], prefix: int, undone: int
) -> None:
    world = Datacenters(clusters)
    advance(world, forward(world, "a"), steps=prefix)
    advance(world, back(world, "a"), steps=undone)
    advance(world, back(world, "a"))
    if world.standing.verb == "roll_back":
        assert (world.standing.active, world.fenced) == ("east", {*clusters} - {"east"})


def test_a_further_standby_is_the_next_target_only_after_it_is_copied_from_the_new_active_cluster() -> None:
    world = Datacenters(THREE)
    advance(world, forward(world, "a"))
    advance(world, forward(world, "b"))
    assert (world.standing.run, world.standing.active) == ("a", "west")
    advance(world, follow(world, ""))
    advance(world, forward(world, "b"))
    assert (world.standing.active, world.fenced) == ("north", {"east", "west"})
