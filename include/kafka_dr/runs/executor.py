"""The process that executes a run. Before it changes anything it takes the run, and every other process has lost it.

A task of Airflow, its retry, ``dr_resume`` and the command line are executors of their own. One that took the run keeps
its attempt from step to step. One that lost it to another executor does not take it again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import datetime
from threading import Event
from uuid import uuid4

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.register import Register, RegisterConflict, RegisterState
from kafka_dr.register.holding import said
from kafka_dr.register.transitions import taken


class Executor:
    """One process, and the runs that it took.

    :param name: shown to people, and different for each process
    """

    def __init__(self, name: str) -> None:
        self.name = name
        #: Whether it is known that a run of a verb has not ended; whoever starts runs elsewhere may know it.
        self.still_runs: Callable[[str, str], bool] = lambda _verb, _run: False
        self._took: dict[tuple[str, str], RegisterState] = {}
        self._signs: dict[tuple[str, str], datetime] = {}
        self._stopping: set[tuple[str, str]] = set()
        self._leaving = Event()

    @classmethod
    def here(cls) -> Executor:
        """Return this process: host, process id, and a random part, as hosts and ids can be used again."""
        return cls(f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}")

    def take(self, state: RegisterState, register: Register, at: Callable[[], datetime]) -> RegisterState:
        """Take the run of a record, unless this process has it already, and return the record that holds then.

        :param state: the newest record; the register may hold an older one
        :param register: the one that decides
        :param at: the time of now
        :raises Refused: another process took the run since this one did
        :raises RegisterConflict: another process takes it at the same time
        """
        if state.executor == self.name:
            return state
        before = self.taken(state.group, state.run)
        if before is not None and before.epoch == state.epoch:
            raise Refused(
                f"{state.group} is {said(state)}: this process ({self.name}) had taken the run, and another one "
                "continues it. Nothing more is changed"
            )
        new = taken(state, run=state.run, executor=self.name, at=at())
        try:
            register.compare_and_set(state, new)
        except RegisterConflict as conflict:
            if conflict.found is not None and conflict.found.order >= state.order:
                raise
            # It does not hold the record yet that the other register was given.
            register.copy(state)
            register.compare_and_set(state, new)
        self.remember(new)
        return new

    @property
    def runs(self) -> tuple[tuple[str, str], ...]:
        """The runs that this process took, each with its group."""
        return tuple(self._took)

    def leave(self) -> None:
        """Permit no further change: this process is about to end."""
        self._leaving.set()

    def require_staying(self) -> None:
        """Be asked before each change of a run.

        :raises TryAgain: this process is about to end. It is not refused: it has the run, and corrects nothing
        """
        if self._leaving.is_set():
            raise TryAgain(
                f"this process ({self.name}) is about to end, so it changes nothing more: run the step again"
            )

    def taken(self, group: str, run: str) -> RegisterState | None:
        """Return the record with which this process took a run, or advanced it last; ``None`` if it never took it."""
        return self._took.get((group, run))

    def remember(self, state: RegisterState) -> None:
        """Remember a record that this process wrote, if it says that it executes the run."""
        if state.executor == self.name:
            self._took[state.group, state.run] = state

    def showed_life(self, group: str, run: str, at: datetime) -> None:
        """Remember when this process last showed in the registers that it executes a run."""
        self._signs[group, run] = at

    def last_sign(self, group: str, run: str) -> datetime | None:
        """Return when this process last showed that it executes a run; ``None`` if it never took it."""
        state = self.taken(group, run)
        known = (self._signs.get((group, run)), state.attempt_at if state else None)
        return max(filter(None, known), default=None)

    def stops_flow(self, run: str, flow: str) -> None:
        """Remember that this process's request to stop a flow for a run was taken."""
        self._stopping.add((run, flow))

    def has_stopped_flow(self, run: str, flow: str) -> bool:
        """Return whether such a request of this process was taken; the flow may still run for a moment."""
        return (run, flow) in self._stopping
