"""May I still change this? A guard asks the deciding register, right before each change.

A process can be held up while its run is rolled back, finished or taken over. When it wakes up, the guard refuses, and
the process changes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kafka_dr.errors import Refused
from kafka_dr.register import RegisterState
from kafka_dr.register.holding import said


class Condition(Protocol):
    """What a record of the register has to say, so that a change is permitted; as a string: what is expected."""

    def permits(self, found: RegisterState) -> bool:
        """Return whether this record permits the change."""
        ...


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The record is the one that the change was decided on, in every field."""

    state: RegisterState

    def permits(self, found: RegisterState) -> bool:
        """Return whether the record is the same."""
        return found == self.state

    def __str__(self) -> str:
        return f"{said(self.state)}, unchanged"


@dataclass(frozen=True, slots=True)
class AsksFor:
    """The record still asks for the change, whatever else has changed in it.

    :param rule: says whether a record asks for it
    :param wanted: what the record has to ask for, as it continues "a record that asks for …"
    """

    rule: Callable[[RegisterState], bool]
    wanted: str

    def permits(self, found: RegisterState) -> bool:
        """Return whether the record asks for the change."""
        return self.rule(found)

    def __str__(self) -> str:
        return f"a record that asks for {self.wanted}"


@dataclass(frozen=True, slots=True)
class RegisterGuard:
    """Permits a change, or refuses it, by what the register says at that moment.

    :param group: the protection group, for the message
    :param asked: which registers are read, for the message
    :param read: reads them, each time
    :param condition: what the record has to say; no record permits nothing
    :param first: what else has to hold. It is asked before the register, so that the change follows the register's
        answer at once
    """

    group: str
    asked: str
    read: Callable[[], RegisterState | None]
    condition: Condition
    first: tuple[Callable[[], None], ...] = ()

    def require(self) -> RegisterState:
        """Ask, to be called right before each change, and return the record that permits it.

        :raises Refused: the register does not permit the change
        :raises KafkaDrError: the register could not be read
        """
        for ask in self.first:
            ask()
        found = self.read()
        if found is None or not self.condition.permits(found):
            raise Refused(
                f"{self.asked} says that {self.group} is {said(found)}; expected: {self.condition}. Nothing more is "
                "changed. See which run holds the group now"
            )
        return found
