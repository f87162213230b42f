"""Runs of the clients of different members, in every order: no member is closed while somebody is on it, or comes."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.clusters.errors import ClusterUnreachable
from kafka_dr.errors import KafkaDrError
from kafka_dr.register import RegisterState, highest, transitions
from kafka_dr.runs.members import guests_are_left, is_first_of_moving, no_guests, target_serves
from kafka_dr.runs.run import Run
from kafka_dr.topology.blocks import MemberOf
from support.memory_register import MemoryRegister
from support.register_states import AT

MEMBERS = ("east", "west", "north")
GROUPS = {member: f"shop-{member}" for member in MEMBERS}


class RecordsOfMembers:
    """The records of the clients of all members, and which members refuse writes."""

    def __init__(self) -> None:
        self.registers = {name: MemoryRegister() for name in MEMBERS}
        self.silent: set[str] = set()
        self.known_silent: set[str] = set()
        self.asked: list[str] = []
        self.closed: set[str] = set()
        for member, group in GROUPS.items():
            others = tuple(other for other in MEMBERS if other != member)
            state = transitions.adopted(group, active=member, standbys=others, run="r", at=AT, copies_named=".")
            self.write(state)

    def write(self, state: RegisterState) -> None:
        for register in self.registers.values():
            register.copy(state)

    def record(self, member: str) -> RegisterState:
        found = highest({name: register.read(GROUPS[member]) for name, register in self.registers.items()})
        assert found is not None
        return found

    def run(self, member: str, target: str) -> Run:
        """Return a run of a member's clients, as far as it looks at the others."""

        def read(cluster: str, group: str) -> RegisterState | None:
            self.asked.append(cluster)
            if cluster in self.silent:
                raise ClusterUnreachable(f"{cluster} does not answer")
            return self.registers[cluster].read(group)

        def each_cluster(ask: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for cluster in MEMBERS:
                try:
                    found[cluster] = ask(cluster)
                except KafkaDrError as error:
                    found[cluster] = error
            return found

        declared = SimpleNamespace(
            name=GROUPS[member],
            member_of=MemberOf("shop", member, GROUPS),
            closes=lambda cluster: cluster == member,
        )
        clients = SimpleNamespace(register=lambda c: SimpleNamespace(read=lambda group: read(c, group)))
        source = self.record(member).active
        made = SimpleNamespace(
            declared=declared,
            clients=clients,
            each_cluster=each_cluster,
            source=source,
            target=target,
            silent=frozenset(self.known_silent),
        )
        return cast("Run", made)

    def check(self) -> None:
        for member in MEMBERS:
            state = self.record(member)
            assert state.active not in self.closed - {member} or state.phase == "switching", (
                f"the clients of {member} are on {state.active}, which is closed"
            )


def moving(world: RecordsOfMembers, member: str, target: str) -> Generator[None, None, bool]:
    """Claim, look, close the own member, hand over; or be rolled back. Yields between any two of these."""
    state = world.record(member)
    claim: dict[str, Any] = {"run": f"run-{member}", "verb": "planned_failover", "source": member, "target": target}
    claim |= {"highest_epoch": state.epoch, "evidence_sha256": "", "approved_by": "alice", "at": AT}
    world.write(transitions.claimed(state, **claim))
    yield
    run = world.run(member, target)
    while target_serves(run).outcome != "ok" or no_guests(run).outcome != "ok":
        if not is_first_of_moving(run):
            world.write(transitions.rolled_back(world.record(member), run=f"run-{member}", at=AT))
            return False
        yield
    yield
    world.closed.add(member)
    world.check()
    yield
    world.write(transitions.handed_over(world.record(member), run=f"run-{member}", at=AT))
    world.check()
    yield
    world.write(transitions.settled(world.record(member), run=f"run-{member}", at=AT))
    return True


@pytest.mark.parametrize(
    "moves",
    [
        (("east", "west"), ("west", "east")),
        (("east", "west"), ("west", "north")),
        (("east", "west"), ("north", "west")),
        (("east", "west"), ("north", "east")),
    ],
    ids=lambda moves: " and ".join("→".join(each) for each in moves),
)
def test_in_no_order_a_member_is_closed_that_others_use_and_one_of_two_runs_gets_through(
    moves: tuple[tuple[str, str], ...],
) -> None:
    for turns in itertools.product((0, 1), repeat=6):
        world = RecordsOfMembers()
        runs = [moving(world, member, target) for member, target in moves]
        ended: dict[int, bool] = {}
        for number in (*turns, *(0, 1) * 8, *(0,) * 20):
            if number not in ended:
                try:
                    next(runs[number])
                except StopIteration as stop:
                    ended[number] = stop.value
                world.check()
        assert any(ended.values()), (turns, ended)


def test_a_member_that_has_just_not_answered_is_not_waited_for_again() -> None:
    world = RecordsOfMembers()
    world.silent = world.known_silent = {"north"}
    assert target_serves(world.run("north", "east")).outcome == "ok"
    assert world.asked == ["east", "west"]


def test_what_is_not_known_of_the_target_is_not_good() -> None:
    world = RecordsOfMembers()
    world.silent = set(MEMBERS)
    assert target_serves(world.run("east", "west")).outcome == "unknown"
    assert no_guests(world.run("east", "west")).outcome == "unknown"


def test_a_lost_member_is_left_whoever_else_is_on_it_and_that_is_said() -> None:
    world = RecordsOfMembers()
    assert all(moved for moved in _through(moving(world, "east", "west")))
    said = guests_are_left(world.run("west", "north"))
    assert said.outcome == "warning"
    assert GROUPS["east"] in said.detail


def _through(run: Generator[None, None, bool]) -> list[bool]:
    try:
        while True:
            next(run)
    except StopIteration as stop:
        return [stop.value]
