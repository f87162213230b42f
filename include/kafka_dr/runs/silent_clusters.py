"""How long a process waits for a cluster that may be dead: its time once, and then only a moment for each question.

A process that moves a group away from such a cluster asks it many times: its register when a step begins, and whether
it answers before it is fenced. Applications wait meanwhile. If each question were given its full time, an outage would
grow by seconds that show nothing new.

This is safe because nothing follows from a silence. The target's register decides, whoever else answers, and a run has
to be right if the source never answers. What an answer adds is that the source's register is won, too, and that the
source is fenced and drained. Therefore every question is put all the same, and stays open in its thread. As soon as one
of them is answered, however late, the cluster has its full time again; so it has if nobody has asked it for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

from kafka_dr.clock import Clock
from kafka_dr.errors import KafkaDrError, Unanswered
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.runs.background import BackgroundCall

T = TypeVar("T")

#: How long a cluster is given to answer its first question, in seconds. It has to connect in that time.
FULL_SECONDS = 2.0
#: How long a cluster that has had its time and was silent is waited for at each further question, in seconds. A cluster
#: that answers again is connected by then: this is many times what a question takes.
AGAIN_SECONDS = 0.3
#: How long a silence counts after the last question, in seconds.
REMEMBERED_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Silence:
    """Since when a cluster has left every question open, and when it was asked last; on the monotonic clock.

    :param given_up: whether somebody has waited for it in vain
    """

    since: float
    asked: float
    given_up: bool = False


class SilentClusters:
    """What a process remembers of the clusters that do not answer it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._silences: dict[str, _Silence] = {}
        self._lock = Lock()

    def ask(self, cluster: str, name: str, question: Callable[[], T]) -> BackgroundCall[T]:
        """Ask a cluster in the background, and remember when it answers.

        :param name: what is asked, as it continues "no answer to …"
        :param question: raises :class:`Unanswered` if the cluster does not answer; every other error is an answer
        """
        self._asked(cluster)

        def ask() -> T:
            try:
                answer = question()
            except KafkaDrError as error:
                if isinstance(error, RegisterUnusable) or not isinstance(error, Unanswered):
                    self._answered(cluster)
                raise
            self._answered(cluster)
            return answer

        return BackgroundCall(name, ask)

    def seconds(self, cluster: str, wanted: float, *, full: float = FULL_SECONDS) -> float:
        """Return how long the question that has just been put is waited for, in seconds.

        :param wanted: how long it is if the cluster has time left
        :param full: how long a cluster may be silent until only a moment is left for each question
        """
        with self._lock:
            silence = self._silences.get(cluster)
        if silence is None:
            return wanted
        left = silence.since + full - self._clock.monotonic()
        return min(wanted, max(left, AGAIN_SECONDS))

    def give_up(self, cluster: str) -> None:
        """Remember that a cluster was waited for in vain; forgotten when it answers."""
        with self._lock:
            if silence := self._silences.get(cluster):
                self._silences[cluster] = replace(silence, given_up=True)

    def is_given_up(self, cluster: str) -> bool:
        """Return whether a cluster was waited for in vain, and has not answered since."""
        with self._lock:
            silence = self._silences.get(cluster)
        return silence is not None and silence.given_up

    def _asked(self, cluster: str) -> None:
        now = self._clock.monotonic()
        with self._lock:
            silence = self._silences.get(cluster)
            if silence is None or now - silence.asked > REMEMBERED_SECONDS:
                silence = _Silence(now, now)
            self._silences[cluster] = replace(silence, asked=now)

    def _answered(self, cluster: str) -> None:
        with self._lock:
            self._silences.pop(cluster, None)
