"""Claims that know less than a register that they meet: what was opened stays the only one, whatever epochs they have.

A group with several standbys is moved by whoever hears more than half of its registers. A claim that died in one of
them returns with a high epoch, and what the others did meanwhile counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.health.stale_registers import update_stale_registers
from kafka_dr.register import Phase, Register, RegisterConflict, RegisterState, highest, transitions
from kafka_dr.register.most_registers import require_most, win, withdraw
from kafka_dr.register.roles import Role
from kafka_dr.runs.register_read import decided, decided_without_source
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.register_states import AT

THREE = ("east", "north", "west")
FIVE = (*THREE, "rome", "oslo")
SIGNED: dict[str, Any] = {"evidence_sha256": "", "approved_by": "alice", "at": AT}


@dataclass
class SplitGroup:
    """The registers of clusters, and which of them was opened after which."""

    names: Sequence[str] = THREE
    registers: dict[str, MemoryRegister] = field(default_factory=dict)
    #: By run that opened a cluster, in order: from where to where.
    opened: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        begun = transitions.adopted("orders", active=self.names[0], standbys=self.names[1:], run="adoption", at=AT)
        self.registers = {name: MemoryRegister() for name in self.names}
        for register in self.registers.values():
            register.copy(begun)

    def seen(self, reaches: Collection[str]) -> dict[str, RegisterState | None]:
        return {name: self.registers[name].read("orders") for name in self.names if name in reaches}

    def answers(self, reaches: Collection[str]) -> dict[str, RegisterState | KafkaDrError | None]:
        silent = {name: TryAgain(f"{name} does not answer") for name in self.names if name not in reaches}
        return {**silent, **self.seen(reaches)}

    def open(self, run: str, source: str, target: str) -> None:
        active = [self.names[0], *(there for _, there in self.opened.values())][-1]
        assert run in self.opened or source == active, f"I1: {target} is opened by {run}, and so is {active}"
        self.opened[run] = (source, target)


class Died(BaseException):
    """The process has died."""


@dataclass
class Unplanned:
    """A run that moves the group without its active cluster, by the questions of the verb."""

    world: SplitGroup
    run: str
    reaches: Collection[str]
    target: str
    #: After how many questions its process dies, and what others do before a question.
    dies: int = 10_000
    others: Mapping[int, Any] = field(default_factory=dict)
    asked: int = 0
    state: RegisterState | None = None
    off: str = ""

    def ask(self, cluster: str, question: Any) -> Any:
        self.asked += 1
        if self.asked in self.others:
            self.others[self.asked]()
        if self.asked >= self.dies:
            raise Died
        if cluster not in self.reaches:
            raise TryAgain(f"{cluster} does not answer")
        register: Register = self.world.registers[cluster]
        return question(register)

    def claim(self) -> None:
        seen = self.world.seen(self.reaches)
        answers = self.world.answers(self.reaches)
        known = decided_without_source("orders", answers, target=self.target, off=self.off, run=self.run)
        assert known is not None
        if known.run == self.run and not known.is_unproven:
            raise Refused("this run has won before, or is rolled back")
        claim = known
        if known.run != self.run:
            others = [each.epoch for each in seen.values() if each is not None and each.run != self.run]
            ends: dict[str, Any] = {"source": known.active, "target": self.target}
            highest_epoch = max(others, default=0)
            claim = transitions.claimed_unplanned(known, run=self.run, highest_epoch=highest_epoch, **ends, **SIGNED)
        win(claim, known, seen, self.ask, off=self.off)
        self.state = transitions.taken(claim, run=self.run, executor="a process", at=AT)
        self.ask(self.target, lambda register: register.compare_and_set(claim, self.state))

    def hand_over(self) -> None:
        taken = self.state
        assert taken is not None
        moved = transitions.handed_over(taken, run=self.run, at=AT)
        self.ask(self.target, lambda register: register.compare_and_set(taken, moved))
        self.state = moved
        self.tell()

    def tell(self) -> None:
        moved = self.state
        assert moved is not None
        held: dict[str, RegisterState | None] = {self.target: moved}
        for name in moved.standbys:
            with suppress(KafkaDrError):
                held[name] = self.ask(name, lambda register: register.copy(moved))
        require_most(moved, held, off=self.off)
        self.world.open(self.run, moved.partner, moved.active)

    def go(self) -> None:
        self.claim()
        self.hand_over()

    def settle(self) -> None:
        """End the run: the lost cluster is fenced, and each other standby is copied again."""
        before = self.state
        assert before is not None
        self.state = transitions.without_source(before, run=self.run, fenced=True, at=AT)
        self.ask(self.target, lambda register: register.compare_and_set(before, self.state))
        copied(self.world, self.state, self.reaches)


def copied(world: SplitGroup, state: RegisterState, reaches: Collection[str]) -> None:
    """Let each standby that waits for a flow be copied again, and update the registers that answer."""
    for name in state.standbys:
        if state.roles.of(name) is Role.PENDING:
            before, state = state, transitions.copied_again(state, name)
            world.registers[state.active].compare_and_set(before, state)
    for name in world.names:
        if name in reaches:
            world.registers[name].copy(state)


#: After so many steps a planned failover has ended.
_STEPS = 6


def move(
    world: SplitGroup, reaches: Collection[str], target: str, run: str, *, others: Mapping[int, Any] | None = None
) -> None:
    """Move the group by a planned failover, and let each standby be copied again.

    :param others: what others do before one of its steps; it may raise :class:`Died`
    """
    steps = itertools.count()

    def step() -> None:
        (others or {}).get(next(steps), lambda: None)()

    known = decided("orders", world.answers(reaches))
    assert known is not None
    source = known.active
    if {source, target} - {*reaches}:
        raise TryAgain("both ends have to answer")
    claim = transitions.claimed(
        known, run=run, verb="planned_failover", source=source, target=target, highest_epoch=known.epoch, **SIGNED
    )
    step()
    world.registers[source].compare_and_set(known, claim)
    step()
    world.registers[target].copy(claim)
    step()
    moved = transitions.handed_over(claim, run=run, at=AT)
    world.registers[source].compare_and_set(claim, moved)
    step()
    if world.registers[target].copy(moved) != moved:
        raise NeedsPerson("the target's register holds another record")
    step()
    held = {name: world.registers[name].copy(moved) for name in world.names if name in reaches}
    require_most(moved, held, off="")
    world.open(run, source, target)
    step()
    state = transitions.settled(moved, run=run, at=AT)
    world.registers[target].compare_and_set(moved, state)
    copied(world, state, reaches)


def look(world: SplitGroup, reaches: Collection[str]) -> None:
    """Let health repair the registers that answer."""
    clock = ManualClock(AT + timedelta(hours=1))
    context = SimpleNamespace(
        clock=clock,
        group=SimpleNamespace(name="orders"),
        clients=SimpleNamespace(
            register=world.registers.__getitem__, executor=SimpleNamespace(require_staying=lambda: None)
        ),
    )
    answers = RegisterAnswers(world.seen(reaches), {}, {})
    with suppress(NeedsPerson):
        if answers.newest is not None:
            update_stale_registers(cast("Any", context), answers.newest, answers, refusing={}, seconds=5.0)


def a_dead_claim_in_east(world: SplitGroup, target: str, *, run: str = "z") -> RegisterState:
    """A run sets its claim in the first register, and its process dies."""
    with pytest.raises(Died):
        Unplanned(world, run, {"east", target}, target, dies=2).claim()
    claim = world.registers["east"].read("orders")
    assert claim is not None
    assert (claim.run, claim.is_unproven) == (run, True)
    return claim


def set_claim(world: SplitGroup, cluster: str, run: str, source: str, target: str, *, seen: int = 0) -> RegisterState:
    """Set the claim of a run whose process dies in one register."""
    before = cast("RegisterState", world.registers[cluster].read("orders"))
    ends: dict[str, Any] = {"source": source, "target": target, "highest_epoch": seen}
    claim = transitions.claimed_unplanned(before, run=run, **ends, **SIGNED)
    world.registers[cluster].compare_and_set(before, claim)
    return claim


def test_a_dead_claim_does_not_undo_what_the_others_opened_while_its_register_was_away() -> None:
    world = SplitGroup()
    move(world, THREE, "north", "p")
    set_claim(world, "east", "z", "north", "east")
    move(world, {"north", "west"}, "west", "q")
    heard = {"east", "west"}
    assert highest(world.seen(heard)) == world.registers["west"].read("orders")
    for run, target in (("z", "east"), ("b", "east")):
        with suppress(KafkaDrError):
            Unplanned(world, run, heard, target).go()
        assert [*world.opened][:2] == ["p", "q"]
    look(world, heard)
    assert decided("orders", world.answers({"east", "north"})) is not None


def test_a_second_dead_claim_has_a_higher_thousand_and_decides_nothing() -> None:
    world = SplitGroup()
    a_dead_claim_in_east(world, "west", run="y")
    assert a_dead_claim_in_east(world, "west").epoch == 2003
    winner = Unplanned(world, "a", {"north", "west"}, "north")
    winner.go()
    assert winner.state is not None
    assert winner.state.epoch == 1002
    assert highest(world.seen({"east", "west"})) == winner.state
    with pytest.raises(Refused):
        Unplanned(world, "b", {"east", "west"}, "west").go()


def test_a_claim_that_began_before_another_run_won_meets_what_that_has_written() -> None:
    """It has read a dead claim with a higher epoch than the winner's, and goes by what that claim knew."""
    world = SplitGroup()
    assert a_dead_claim_in_east(world, "west").epoch == 1003
    late = Unplanned(
        world, "b", {"east", "west"}, "west", others={1: Unplanned(world, "a", {"north", "west"}, "north").go}
    )
    with pytest.raises(RegisterConflict):
        late.go()
    assert [*world.opened] == ["a"]


def test_a_claim_that_is_taken_back_never_restores_an_older_record_than_it_has_replaced() -> None:
    world = SplitGroup()
    # West misses it.
    move(world, {"east", "north"}, "north", "p")
    claim = set_claim(world, "east", "z", "north", "east")
    person = Unplanned(world, "z", {"east", "west"}, "east")
    with pytest.raises(TryAgain):
        withdraw(claim, world.seen(person.reaches), person.ask)
    assert world.registers["east"].read("orders") == claim
    assert withdraw(claim, world.seen(THREE), Unplanned(world, "z", THREE, "east").ask)
    assert world.registers["east"].read("orders") == world.registers["north"].read("orders")


def test_what_was_opened_under_an_override_counts_although_a_dead_claim_has_replaced_its_only_record() -> None:
    world = SplitGroup()
    first = Unplanned(world, "a", {"north"}, "north", off="east and west are off")
    first.go()
    assert first.state is not None
    ended = transitions.without_source(first.state, run="a", fenced=True, at=AT)
    ready = transitions.copied_again(ended, "west")
    world.registers["north"].compare_and_set(first.state, ready)
    with pytest.raises(Died):
        Unplanned(world, "z", {"north", "west"}, "west", dies=2).claim()
    assert [state and state.active for state in world.seen(THREE).values()] == ["east", "north", "east"]
    look(world, THREE)
    found = highest(world.seen(THREE))
    assert found is not None
    assert (found.run, found.active) == ("z", "north")
    with pytest.raises(TryAgain):
        withdraw(found, world.seen(THREE), Unplanned(world, "z", THREE, "west").ask)
    Unplanned(world, "z", THREE, "west").go()
    assert [*world.opened.values()] == [("east", "north"), ("north", "west")]


def test_a_declared_cluster_that_the_record_does_not_name_makes_no_claim_lose() -> None:
    split = SplitGroup()
    Unplanned(split, "a", {"east", "west"}, "west").claim()
    # West, which knows that the claim has won, is silent.
    heard = {**split.seen({"east", "north"}), "rome": None}
    assert highest(heard) == split.registers["east"].read("orders")


def test_a_run_that_another_one_has_replaced_hands_over_in_none_of_the_registers_of_that_one() -> None:
    world = SplitGroup()
    first = Unplanned(world, "a", THREE, "west")
    first.claim()
    later = Unplanned(world, "c", {"east", "north"}, "north")
    later.claim()
    for each in (first, later):
        with suppress(Refused):
            each.hand_over()
    assert [*world.opened] == ["c"]
    assert highest(world.seen(THREE)) == highest(world.seen({"north", "west"})) == later.state


def test_a_claim_that_most_registers_hold_counts_although_a_run_that_it_replaced_woke_up_and_handed_over() -> None:
    split = SplitGroup()
    first = Unplanned(split, "a", THREE, "west")
    first.claim()
    # It sets two registers, sees that both hold it, and dies.
    with pytest.raises(Died):
        Unplanned(split, "c", {"east", "north"}, "north", dies=6).claim()
    with pytest.raises(Refused):
        first.hand_over()
    found = highest(split.seen(THREE))
    assert found is not None
    assert found.run == "c"
    Unplanned(split, "c", THREE, "north").go()
    assert [*split.opened] == ["c"]


def test_a_dead_claim_in_half_of_the_registers_keeps_no_hand_over_from_the_others_for_long() -> None:
    split = SplitGroup(FIVE[:4])

    def two_others_are_claimed() -> None:
        with pytest.raises(Died):
            Unplanned(split, "c", {"north", "rome"}, "north", dies=4, off="east and west are off").claim()

    with pytest.raises(NeedsPerson):
        Unplanned(split, "x", {"north", "rome"}, "north").claim()
    with pytest.raises(Refused):
        move(split, FIVE[:4], "west", "p", others={3: two_others_are_claimed})
    handed_over = highest(split.seen(FIVE[:4]))
    assert handed_over is not None
    assert (handed_over.run, handed_over.phase) == ("p", Phase.HANDED_OVER)
    look(split, FIVE[:4])
    assert [*split.seen(FIVE[:4]).values()] == [handed_over] * 4


def test_two_dead_claims_with_one_epoch_are_no_matter_for_a_person() -> None:
    split = SplitGroup()
    for name, run in (("east", "y"), ("north", "z")):
        set_claim(split, name, run, "east", "west", seen=1001)
    other = Unplanned(split, "a", {"east", "north"}, "north")
    other.go()
    assert [*split.opened] == ["a"]


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("raised", [False, True])
def test_a_claim_that_health_took_for_dead_while_it_won_opens_nothing_that_a_rival_has_not(
    first: str, *, raised: bool
) -> None:
    """The claim is old, as the run was resumed; health has judged it before it came to its second register."""
    world = SplitGroup()
    if raised:
        a_dead_claim_in_east(world, "west", run="y")
    slow = Unplanned(world, "a", {"east", "west"}, "west")
    before = world.registers["north"].read("orders")
    slow.claim()
    claim = world.registers["east"].read("orders")
    # What a look that began before it does now.
    world.registers["east"].compare_and_set(claim, cast("Any", before))
    rival = Unplanned(world, "b", {"east", "north"}, "north")
    rival.claim()
    for each in (slow, rival) if first == "a" else (rival, slow):
        with suppress(KafkaDrError):
            each.hand_over()
    assert [*world.opened] == [first]


#: What somebody does: what, with which run, what it reaches, where it goes, and before which question others act.
Act = tuple[str, int, set[str], str, int]


@dataclass
class Story:
    """What runs, people and health do one after the other; each claim is interrupted by the acts that follow it."""

    world: SplitGroup
    left: list[Act]
    runs: list[Unplanned] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def follow(self) -> None:
        """Do the next act."""
        if self.left:
            what, which, *how = self.left.pop(0)
            run = self.runs[which % len(self.runs)] if self.runs else None
            with suppress(KafkaDrError, Died):
                if what in self.of_a_run and run is not None:
                    self.of_a_run[what](self, run, *how)
                elif what in self.of_nobody:
                    self.of_nobody[what](self, *how)

    def claims(self, reaches: set[str], target: str, at: int) -> None:
        self.runs.append(Unplanned(self.world, f"r{next(self.numbers)}", reaches, target, others={at: self.follow}))
        self.runs[-1].go()

    def dies(self, reaches: set[str], target: str, at: int) -> None:
        self.runs.append(Unplanned(self.world, f"r{next(self.numbers)}", reaches, target, dies=at))
        self.runs[-1].go()

    def moves(self, reaches: set[str], target: str, at: int) -> None:
        move(self.world, reaches, target, f"p{next(self.numbers)}", others={at % _STEPS: self.follow})

    def dies_moving(self, reaches: set[str], target: str, at: int) -> None:
        def die() -> None:
            raise Died

        move(self.world, reaches, target, f"p{next(self.numbers)}", others={at % _STEPS: die})

    def repairs(self, reaches: set[str], target: str, at: int) -> None:
        look(self.world, reaches)

    def claims_again(self, run: Unplanned, reaches: set[str], target: str, at: int) -> None:
        again = Unplanned(self.world, run.run, reaches, run.target, others={at: self.follow})
        self.runs[self.runs.index(run)] = again
        again.go()

    def continues(self, run: Unplanned, reaches: set[str], target: str, at: int) -> None:
        run.reaches, run.dies = reaches, 10_000
        if run.state is not None and run.state.phase is Phase.SWITCHING:
            run.hand_over()
        elif run.state is not None:
            run.tell()

    def ends(self, run: Unplanned, reaches: set[str], target: str, at: int) -> None:
        if run.run in self.world.opened and run.state is not None and run.state.phase is Phase.HANDED_OVER:
            run.reaches = reaches
            run.settle()

    def is_abandoned(self, run: Unplanned, reaches: set[str], target: str, at: int) -> None:
        seen = self.world.seen(reaches)
        claims = [each for each in seen.values() if each and each.is_unproven and each.run == run.run]
        if claims:
            withdraw(claims[0], seen, Unplanned(self.world, run.run, reaches, run.target).ask)
        elif run.state is not None and run.state.phase is Phase.SWITCHING and run.target in reaches:
            undone = transitions.rolled_back(run.state, run=run.run, at=AT)
            self.world.registers[run.target].compare_and_set(run.state, undone)

    of_nobody: ClassVar[Mapping[str, Any]] = {
        "claims": claims,
        "dies": dies,
        "moves": moves,
        "dies moving": dies_moving,
        "repairs": repairs,
    }
    of_a_run: ClassVar[Mapping[str, Any]] = {
        "claims again": claims_again,
        "continues": continues,
        "ends": ends,
        "is abandoned": is_abandoned,
    }


def story_of(chance: Random, names: Sequence[str]) -> Story:
    """Return what a chance chose; at first runs may die after a register that then knows of epochs of its own."""
    dead: list[Act] = [("dies", 0, {names[0], name}, name, 2) for name in names[1 : 1 + chance.randint(0, 2)]]
    what = [*Story.of_nobody, *Story.of_a_run, "claims", "dies", "continues"]
    acts = [
        (
            chance.choice(what),
            chance.randrange(6),
            set(chance.sample(names, chance.randint(len(names) // 2 + 1, len(names)))),
            chance.choice(names),
            chance.randint(1, 3 * len(names)),
        )
        for _ in range(chance.randint(4, 14))
    ]
    return Story(SplitGroup(names), [*dead, *acts])


@pytest.mark.parametrize("names", [THREE, FIVE[:4], FIVE], ids=len)
def test_whatever_runs_and_health_do_one_cluster_is_opened_after_the_other(names: Sequence[str]) -> None:
    for seed in range(800):
        story = story_of(Random(seed), names)  # noqa: S311
        while story.left:
            story.follow()
