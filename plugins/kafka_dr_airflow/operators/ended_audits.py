"""The audits of a shared application, each dealt with as soon as it has ended, while others still run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from kafka_dr_airflow.operators.flow_audit import FlowAudit

#: How often it is looked for audits that have ended.
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LeftAudits:
    """What is left when nothing more is waited for.

    :param running: those that had not ended
    :param late: those that had ended, and that were not dealt with in time
    """

    running: tuple[FlowAudit, ...]
    late: tuple[FlowAudit, ...]


class EndedAudits:
    """Calls a function for each audit that has ended, in a thread: one whose register hangs holds up no other.

    :param audits: all that are waited for
    :param ended: whether an audit has ended
    :param finish: deals with it; it raises nothing
    """

    def __init__(
        self, audits: Sequence[FlowAudit], ended: Callable[[FlowAudit], bool], finish: Callable[[FlowAudit], None]
    ) -> None:
        self._running = list(audits)
        self._ended, self._finish = ended, finish
        self._over = Event()
        self._done: list[tuple[FlowAudit, Thread]] = []
        self._watching = Thread(target=self._watch, name="ended audits", daemon=True)

    @contextmanager
    def watched(self) -> Iterator[EndedAudits]:
        """Look for audits that have ended as long as the block runs."""
        self._watching.start()
        try:
            yield self
        finally:
            self._over.set()
            self._watching.join()

    def rest(self, seconds: float) -> LeftAudits:
        """Look a last time, wait for what is being dealt with, and return what is left.

        :param seconds: how long it is waited for
        """
        self._look()
        deadline = time.monotonic() + seconds
        for _, thread in self._done:
            thread.join(max(0.0, deadline - time.monotonic()))
        return LeftAudits(tuple(self._running), tuple(one for one, thread in self._done if thread.is_alive()))

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        for one in [each for each in self._running if self._ended(each)]:
            self._running.remove(one)
            thread = Thread(target=self._finish, args=(one,), name=f"ended {one.name}", daemon=True)
            self._done.append((one, thread))
            thread.start()
