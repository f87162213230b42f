"""Asking several clusters side by side, each with the same deadline: a dead one holds up nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from kafka_dr.errors import KafkaDrError, TryAgain

K = TypeVar("K")
T = TypeVar("T")


class NoAnswer(TryAgain):
    """Who was asked had not answered when the deadline passed. What was asked may still be under way."""


def side_by_side(questions: Mapping[K, Callable[[], T]], *, seconds: float) -> dict[K, T | KafkaDrError]:
    """Put every question at the same time; an error stands in the place of an answer that did not come.

    :param seconds: how long all of them together are waited for
    """
    if not questions:
        return {}
    pool = ThreadPoolExecutor(max_workers=len(questions))
    try:
        asked: dict[K, Future[T]] = {key: pool.submit(question) for key, question in questions.items()}
        wait(asked.values(), timeout=seconds)
        answers: dict[K, T | KafkaDrError] = {}
        for key, future in asked.items():
            answer = _answered(future, f"{key} gave no answer within {seconds:g} s")
            answers[key] = answer
        return answers
    finally:
        # Waiting for a thread that hangs in a client is what must not happen here; its own deadline ends it.
        pool.shutdown(wait=False, cancel_futures=True)


def _answered(future: Future[T], silence: str) -> T | KafkaDrError:
    if not future.done():
        return NoAnswer(silence)
    error = future.exception()
    if isinstance(error, KafkaDrError):
        return error
    return future.result()
