"""Processes that move a group, each with the clusters that it knows and reaches; they take turns at each question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.register import RegisterState, transitions
from kafka_dr.register.most_registers import require_most, win
from kafka_dr.runs.register_read import decided, decided_without_source, require_declared
from support.memory_register import MemoryRegister
from support.register_states import AT
from support.turns import Turns

THREE = ("east", "north", "west")
SIGNED: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}


@dataclass
class MovingRegisters:
    """The registers of three clusters, and which cluster was opened.

    ``holds`` is what each of them holds at first, by cluster.
    """

    holds: Mapping[str, RegisterState]
    each: dict[str, MemoryRegister] = field(default_factory=lambda: {name: MemoryRegister() for name in THREE})
    turns: Turns = field(default_factory=Turns)
    opened: list[str] = field(default_factory=list)
    opened_for_good: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, state in self.holds.items():
            self.each[name].copy(state)

    @property
    def held(self) -> dict[str, RegisterState | None]:
        return {name: register.read("orders") for name, register in self.each.items()}


@dataclass
class Mover:
    """A process, and the clusters that its topology declares and that it reaches."""

    name: str
    world: MovingRegisters
    knows: Collection[str] = THREE
    reaches: Collection[str] = THREE
    error: KafkaDrError | None = None
    ended: bool = False

    def register(self, cluster: str) -> Any:
        asked = self.world.each[cluster]

        def turn(method: Any) -> Any:
            def ask(*args: Any) -> Any:
                self.world.turns.wait(self.name)
                if cluster not in self.reaches:
                    raise TryAgain(f"{cluster} does not answer")
                return method(*args)

            return ask

        return SimpleNamespace(
            read=turn(asked.read), compare_and_set=turn(asked.compare_and_set), copy=turn(asked.copy)
        )

    def answers(self) -> dict[str, RegisterState | KafkaDrError | None]:
        found: dict[str, RegisterState | KafkaDrError | None] = {}
        for name in self.knows:
            try:
                found[name] = self.register(name).read("orders")
            except TryAgain as error:
                found[name] = error
        return found

    def decided(self) -> RegisterState:
        """What the registers say, to a process that moves nothing without the one that decides."""
        found = require_declared(decided("orders", self.answers()), self.knows)
        assert found is not None
        return found

    def act(self) -> None:
        try:
            self.go()
        except (Refused, TryAgain, NeedsPerson) as error:
            self.error = error
        self.ended = True

    def go(self) -> None:
        raise NotImplementedError

    def copied(self, state: RegisterState) -> dict[str, RegisterState | None]:
        held: dict[str, RegisterState | None] = {}
        for name, _ in state.roles.each:
            with suppress(TryAgain):
                held[name] = self.register(name).copy(state)
        return held


@dataclass
class MovesWithoutSource(Mover):
    """An unplanned failover, to the hand-over."""

    target: str = "west"

    def go(self) -> None:
        answers = self.answers()
        known = require_declared(decided_without_source("orders", answers, target=self.target), self.knows)
        assert known is not None
        seen = {name: each for name, each in answers.items() if not isinstance(each, KafkaDrError)}
        above = max((each.epoch for each in seen.values() if each is not None), default=0)
        claim = transitions.claimed_unplanned(
            known, run=self.name, source="east", target=self.target, highest_epoch=above, **SIGNED
        )
        win(claim, known, seen, lambda name, question: question(self.register(name)), off="")
        taken = transitions.taken(claim, run=self.name, executor=self.name, at=AT)
        self.register(self.target).compare_and_set(claim, taken)
        moved = transitions.handed_over(taken, run=self.name, at=AT)
        self.register(self.target).compare_and_set(taken, moved)
        held = self.copied(moved)
        if moved.has_several:
            require_most(moved, held, off="")
        self.world.opened.append(self.target)


class MovesAsPlanned(Mover):
    """A planned failover to west, to the hand-over."""

    def go(self) -> None:
        known = self.decided()
        claim = transitions.claimed(
            known, run=self.name, verb="planned_failover", source="east", target="west", highest_epoch=0, **SIGNED
        )
        self.register("east").compare_and_set(known, claim)
        moved = transitions.handed_over(claim, run=self.name, at=AT)
        self.register("east").compare_and_set(claim, moved)
        held = self.copied(moved)
        if held.get("west") != moved:
            raise Refused("west holds another record")
        if moved.has_several:
            require_most(moved, held, off="")
        self.world.opened.append("west")


@contextmanager
def started(world: MovingRegisters, actors: Collection[Mover]) -> Iterator[None]:
    threads = {each.name: world.turns.start(each.name, each.act) for each in actors}
    try:
        yield
    finally:
        world.turns.dead.update(threads)
        for name, thread in threads.items():
            while thread.is_alive():
                world.turns.wakes[name].release()
                thread.join(0.001)
