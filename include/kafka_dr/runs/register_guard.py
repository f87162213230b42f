"""May I still change this? A guard asks the deciding register, right before each change.

A process can be held up while its run is rolled back, finished or taken over. When it wakes up, the guard refuses, and
the process changes nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from kafka_dr.clock import Clock
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.fencing.change import FRESH_SECONDS, permitted_at
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


@dataclass(slots=True)
class LastingPermission:
    """Permits many changes of one kind: the register is asked before the first one, and again when a second is over.

    A process that was held up between two of them changes nothing more if another one has the run by then. Once the
    register did not permit a change, or did not answer, no further one is permitted.

    :param guard: what is asked
    :param clock: what the age of its answer is measured with
    """

    guard: RegisterGuard
    clock: Clock
    _asked: float | None = field(default=None, init=False)
    _error: KafkaDrError | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def require(self) -> None:
        """Ask if the last answer is too old, to be called right before each change, by any thread.

        :raises Refused: the register does not permit the changes any more
        :raises KafkaDrError: the register could not be read, or not fast enough
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._asked is not None and self.clock.monotonic() - self._asked <= FRESH_SECONDS:
                return
            try:
                self._asked = permitted_at(self.guard.require, self.clock)
                if self._asked is None:
                    raise TryAgain(
                        f"{self.guard.asked} of {self.guard.group} takes longer than {duration(FRESH_SECONDS)} to "
                        "answer: nothing more is changed, run the step again"
                    )
            except KafkaDrError as error:
                self._error = error
                raise
