"""Take overs, processes of them that sleep, and what gives back, in every order: one copies at a time, one adopts.

Each actor is a process, as a generator that does one thing at a time and is interrupted in between. Of the clusters
matters here what may copy: the existing replication, which its principal's DENY stops, and this project's flow.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterConflict, RegisterState, highest, transitions
from kafka_dr.register.holding import HeldBy
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.request import StepName
from kafka_dr.runs.step_order import turn_of
from support.memory_register import MemoryRegister
from support.register_states import AT

Actor = Generator[None, None, None]


@dataclass
class Replications:
    """Two registers, and what may copy; the invariants are checked after every change."""

    registers: dict[str, MemoryRegister] = field(
        default_factory=lambda: {n: MemoryRegister() for n in ("east", "west")}
    )
    denied: bool = False
    flow_runs: bool = False
    seen: dict[tuple[int, int], RegisterState] = field(default_factory=dict)

    def all(self) -> tuple[object, ...]:
        return (self.denied, self.flow_runs, self.standing)

    @property
    def standing(self) -> RegisterState | None:
        return highest({name: register.read("orders") for name, register in self.registers.items()})

    @property
    def owner(self) -> tuple[str, Phase] | None:
        state = self.registers["east"].read("orders")
        return None if state is None else (state.run, state.phase)

    def check(self) -> None:
        assert self.denied or not self.flow_runs, "two replications copy at the same time"
        for register in self.registers.values():
            if (state := register.read("orders")) is not None:
                assert self.seen.setdefault(state.order, state) == state, "two records of the same order"
        state = self.registers["east"].read("orders")
        if state is not None and state.phase is Phase.STABLE:
            assert (self.denied, self.flow_runs) == (True, True), "adopted before everything was proven"


def permit(world: Replications, state: RegisterState) -> None:
    found = world.registers["east"].read("orders")
    if found is None or not HeldBy(state.run, state.epoch, state.phase, state.attempt).permits(found):
        raise Refused("the register says otherwise")


def take_over(world: Replications, run: str, process: str = "a process") -> Actor:
    """Run from the register's state of the run to its end, as a process that takes the run first."""
    executor, state = Executor(process), world.standing
    yield
    if turn_of(StepName.CLAIM, run, state, "take_over").verdict == "its_turn" and (state is None or state.run != run):
        new = transitions.taking_over(
            "orders", active="east", standby="west", run=run, evidence_sha256="", approved_by="alice", at=AT,
            before=state,
        )  # fmt: skip
        yield
        world.registers["east"].compare_and_set(state, new)
        yield
        world.registers["west"].copy(new)
        yield
        state = world.standing
    if turn_of(StepName.STOP_EXISTING, run, state, "take_over").verdict != "its_turn":
        return
    assert state is not None
    yield
    state = executor.take(state, world.registers["east"], lambda: AT)
    yield
    permit(world, state)
    world.denied = True
    yield
    permit(world, state)
    if not world.denied:
        raise Refused("the principal is not denied")
    world.flow_runs = True
    yield
    new = transitions.taken_over(state, run=run, at=AT)
    world.registers["east"].compare_and_set(state, new)
    yield
    world.registers["west"].copy(new)


def give_back(world: Replications, run: str, process: str = "a process") -> Actor:
    """Undo a take over that has not ended."""
    state = world.standing
    yield
    if state is None or state.run != run:
        return
    if state.verb != "roll_back":
        new = transitions.given_back(state, run=run, at=AT, executor=process)
        yield
        world.registers["east"].compare_and_set(state, new)
        yield
        state = new
    else:
        state = Executor(process).take(state, world.registers["east"], lambda: AT)
        yield
    permit(world, state)
    world.flow_runs = False
    yield
    permit(world, state)
    world.denied = False
    yield
    world.registers["west"].copy(state)


def advance(world: Replications, actor: Actor, *, steps: int = 1000) -> bool:
    """Let an actor take so many steps, and return whether it is done."""
    for _ in range(steps):
        try:
            next(actor)
        except (StopIteration, Refused, RegisterConflict):
            return True
        finally:
            world.check()
    return False


FORWARD = sum(1 for _ in take_over(Replications(), "a"))
ACTORS = [(take_over, "a"), (take_over, "a"), (give_back, "a"), (give_back, "a"), (take_over, "b"), (give_back, "b")]


@given(st.lists(st.integers(0, len(ACTORS) - 1), max_size=50))
@settings(max_examples=60, deadline=None)
def test_no_interleaving_lets_two_copy_or_adopts_what_is_given_back(turns: list[int]) -> None:
    world, names = Replications(), itertools.count()

    def start(number: int) -> Actor:
        make, run = ACTORS[number]
        return make(world, run, f"process {next(names)}")

    actors = [start(number) for number in range(len(ACTORS))]
    for turn in turns:
        if advance(world, actors[turn], steps=1):
            actors[turn] = start(turn)


@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_from_every_interrupted_prefix_a_take_over_is_given_back_or_was_the_last_act(prefix: int) -> None:
    world = Replications()
    zombie = take_over(world, "a")
    advance(world, zombie, steps=prefix)
    claimed, adopted = world.owner is not None, world.owner == ("a", Phase.STABLE)
    advance(world, give_back(world, "a"))
    if adopted:
        assert world.all()[:2] == (True, True)
        assert world.owner == ("a", Phase.STABLE)
        return
    assert world.all()[:2] == (False, False), "what was there runs again, and this project's flow does not"
    assert world.owner == (("a", Phase.RELEASED) if claimed else None)
    before = world.all()
    advance(world, zombie)
    if not claimed:
        assert world.owner == ("a", Phase.STABLE), "there was nothing to give back, so it takes over"
        return
    assert world.all() == before, "a zombie changed something"
    advance(world, take_over(world, "b"))
    assert world.owner == ("b", Phase.STABLE), "nothing was used up"


@pytest.mark.parametrize("undone", range(7))
@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_an_interrupted_give_back_is_run_again_to_the_same_end(prefix: int, undone: int) -> None:
    world = Replications()
    advance(world, take_over(world, "a"), steps=prefix)
    advance(world, give_back(world, "a"), steps=undone)
    advance(world, give_back(world, "a"))
    state = world.standing
    if state is not None and state.verb == "roll_back":
        assert world.all()[:2] == (False, False)
        assert world.registers["west"].read("orders") == state


@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_a_process_that_sleeps_anywhere_and_wakes_when_another_has_finished_changes_nothing(prefix: int) -> None:
    world = Replications()
    sleeper = take_over(world, "a", "sleeper")
    advance(world, sleeper, steps=prefix)
    advance(world, take_over(world, "a", "another"))
    assert world.owner == ("a", Phase.STABLE)
    before = world.all()
    advance(world, sleeper)
    assert world.all() == before


@pytest.mark.parametrize("prefix", range(FORWARD + 1))
def test_two_runs_never_take_over_the_same_group(prefix: int) -> None:
    world = Replications()
    first = take_over(world, "a")
    advance(world, first, steps=prefix)
    held = world.owner
    advance(world, take_over(world, "b"))
    if held is not None:
        assert world.owner == held
        advance(world, first)
        assert world.owner == ("a", Phase.STABLE)
    else:
        assert world.owner == ("b", Phase.STABLE)
