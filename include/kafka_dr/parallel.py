"""Ask several things at the same time: one question about many names, or several questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, overload

from kafka_dr.errors import KafkaDrError

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
V = TypeVar("V")


def ask_all(ask: Callable[[K], V], names: Iterable[K], *, at_most: int | None = None) -> dict[K, V]:
    """Ask the same of every name, and return the answers by name, in the order of the names.

    :param at_most: how many are asked at the same time; ``None``: all of them
    :raises Exception: the first error in the order of the names, after every name was asked
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    with ThreadPoolExecutor(max_workers=min(at_most or len(wanted), len(wanted))) as pool:
        return dict(zip(wanted, pool.map(ask, wanted), strict=True))


def ask_each(ask: Callable[[K], V], names: Iterable[K], *, at_most: int | None = None) -> dict[K, V | KafkaDrError]:
    """Ask the same of every name, and return answers or errors by name: an error never hides the other answers.

    :param at_most: how many are asked at the same time; ``None``: all of them
    """

    def answer(name: K) -> V | KafkaDrError:
        try:
            return ask(name)
        except KafkaDrError as error:
            return error

    return ask_all(answer, names, at_most=at_most)


@overload
def at_once(first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]: ...


@overload
def at_once(*questions: Callable[[], V]) -> tuple[V, ...]: ...


def at_once(*questions: Callable[[], Any]) -> tuple[Any, ...]:
    """Ask several questions at the same time, and return their answers in order.

    :raises Exception: the first error in the order of the questions, after all were asked
    """
    answers = ask_all(lambda number: questions[number](), range(len(questions)))
    return tuple(answers.values())
