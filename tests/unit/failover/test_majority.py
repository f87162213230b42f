"""A hand-over is in more than half of the registers before the target is opened, and waits for none it can spare."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.errors import TryAgain
from kafka_dr.failover.planned.open_target import tell_most
from kafka_dr.register import RegisterState, transitions
from support.memory_register import MemoryRegister
from support.register_states import AT

SIGNED: dict[str, Any] = {"run": "run-1", "evidence_sha256": "", "approved_by": "alice", "at": AT}


class Registers:
    """The registers of a group that is handed over from east to west: source and target hold that."""

    def __init__(self, *further: str) -> None:
        adopted = transitions.adopted("orders", active="east", standbys=["west", *further], run="adoption", at=AT)
        move: dict[str, Any] = {"verb": "planned_failover", "source": "east", "target": "west", "highest_epoch": 1}
        switching = transitions.claimed(adopted, **move, **SIGNED)
        self.state = transitions.handed_over(switching, run="run-1", at=AT)
        self.each = {name: MemoryRegister() for name in ("east", "west", *further)}
        for register in self.each.values():
            register.copy(switching)
        for name in ("east", "west"):
            self.each[name].copy(self.state)
        self.silent: dict[str, Callable[[], None]] = {}

    def tell(self) -> None:
        def register(name: str) -> Any:
            def copy(state: RegisterState) -> RegisterState:
                self.silent.get(name, lambda: None)()
                return self.each[name].copy(state)

            def read(group: str) -> RegisterState | None:
                self.silent.get(name, lambda: None)()
                return self.each[name].read(group)

            return SimpleNamespace(copy=copy, read=read)

        clients = SimpleNamespace(register=register, require_declared=lambda _: None)
        run = SimpleNamespace(source="east", target="west", override="", clients=clients)
        tell_most(cast("Any", run), self.state)


def fails() -> None:
    raise TryAgain("it does not answer")


def test_source_and_target_are_most_of_three_and_the_third_is_not_waited_for() -> None:
    registers, answers = Registers("north"), Event()
    registers.silent["north"] = lambda: cast("None", answers.wait(20))
    registers.tell()
    answers.set()


def test_each_further_register_that_answers_gets_the_hand_over() -> None:
    registers = Registers("north", "south")
    registers.tell()
    held = [registers.each[name].read("orders") for name in ("north", "south")]
    assert registers.state in held


@pytest.mark.parametrize("lost", [("north", "south"), ("east", "north", "south"), ("east", "south")])
def test_the_target_is_not_opened_while_half_of_the_registers_do_not_hold_it(lost: tuple[str, ...]) -> None:
    registers = Registers("north", "south")
    registers.silent = dict.fromkeys(lost, fails)
    with pytest.raises(TryAgain, match="more than half have to: west is not opened"):
        registers.tell()


@pytest.mark.parametrize("lost", [(), ("north",), ("east",), ("south",)])
def test_three_of_four_are_enough_whichever_they_are(lost: tuple[str, ...]) -> None:
    registers = Registers("north", "south")
    registers.silent = dict.fromkeys(lost, fails)
    registers.tell()
