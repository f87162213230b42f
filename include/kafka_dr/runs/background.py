"""Background calls: each question runs in a thread of its own, and the caller waits only for a given time.

A client of a dead or hanging cluster gives up at its own deadline, a few seconds later; its thread ends then. Before
such a thread changes anything, it asks a guard, which reads a register that answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Condition, Thread
from typing import Generic, TypeVar

from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, TryAgain

K = TypeVar("K")
T = TypeVar("T")


class Silent(TryAgain):
    """No answer in the time that was given; the question may still be under way."""


class BackgroundCall(Generic[T]):
    """A question that starts at once in a thread of its own and may be answered later, or never.

    :param name: what is asked, as it continues "no answer to …"
    """

    def __init__(self, name: str, question: Callable[[], T]) -> None:
        self._name = name
        self._done = Condition()
        self._answer: list[T] = []
        self._error: Exception | None = None
        self._began = time.monotonic()
        Thread(target=self._ask, args=(question,), name=f"background: {name}", daemon=True).start()

    @property
    def answered(self) -> bool:
        """Whether there is an answer, or an error instead."""
        with self._done:
            return bool(self._answer) or self._error is not None

    def within(self, seconds: float) -> T:
        """Return the answer, waited for until this many seconds after the question was put.

        :raises Silent: there was none by then
        :raises KafkaDrError: the question failed
        """
        with self._done:
            left = max(0.0, self._began + seconds - time.monotonic())
            self._done.wait_for(lambda: bool(self._answer) or self._error is not None, left)
            if self._error is not None:
                raise self._error
            if not self._answer:
                raise Silent(f"no answer to {self._name} within {duration(seconds)}")
            return self._answer[0]

    def _ask(self, question: Callable[[], T]) -> None:
        try:
            answer = question()
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            with self._done:
                self._error = error
                self._done.notify_all()
            return
        with self._done:
            self._answer.append(answer)
            self._done.notify_all()


def ask(name: str, question: Callable[[], T], *, seconds: float) -> T:
    """Ask, and give up after so many seconds.

    :raises Silent: there was no answer by then
    """
    return BackgroundCall(name, question).within(seconds)


def answers_within(questions: Mapping[K, Callable[[], T]], *, seconds: float) -> dict[K, T | KafkaDrError]:
    """Ask everything at the same time; an error instead of an answer that did not come in time.

    Other than :mod:`kafka_dr.parallel`, this returns in time even if a question hangs.

    :param seconds: how long the answers are waited for
    """
    asked = {key: BackgroundCall(str(key), question) for key, question in questions.items()}
    answers: dict[K, T | KafkaDrError] = {}
    for key, question in asked.items():
        try:
            answers[key] = question.within(seconds)
        except KafkaDrError as error:
            answers[key] = error
    return answers
