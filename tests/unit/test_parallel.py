"""Several questions at the same time: answers by name, a bound, and errors raised or returned."""

from __future__ import annotations

from threading import Barrier, Lock

import pytest

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.parallel import ask_all, ask_each, at_once


def fails_for_b(name: str) -> str:
    if name == "b":
        raise TryAgain("b does not answer")
    return name.upper()


def test_answers_are_returned_by_name_in_the_order_of_the_names() -> None:
    assert list(ask_all(str.upper, ["c", "a", "b", "a"]).items()) == [("c", "C"), ("a", "A"), ("b", "B")]
    assert ask_all(str.upper, []) == {}


def test_all_names_are_asked_at_the_same_time_unless_there_is_a_bound() -> None:
    everybody = Barrier(5, timeout=20)
    assert set(ask_all(lambda _: everybody.wait(), range(5)).values()) == set(range(5))

    lock, running, most = Lock(), [0], [0]

    def ask(_: int) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with lock:
            running[0] -= 1

    ask_all(ask, range(50), at_most=2)
    assert most[0] <= 2


def test_an_error_is_raised_or_is_returned_instead_of_one_answer() -> None:
    with pytest.raises(TryAgain, match="b does not answer"):
        ask_all(fails_for_b, ["a", "b", "c"])
    found = ask_each(fails_for_b, ["a", "b", "c"])
    assert (found["a"], found["c"]) == ("A", "C")
    assert isinstance(found["b"], TryAgain)


def test_an_error_that_no_part_of_the_project_raises_on_purpose_is_never_an_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        ask_each(lambda number: 1 // number, [1, 0])


def test_several_questions_are_asked_at_the_same_time() -> None:
    both = Barrier(2, timeout=20)
    assert at_once(lambda: both.wait() >= 0, lambda: str(both.wait() >= 0)) == (True, "True")

    def refuses() -> int:
        raise Refused("no")

    with pytest.raises(Refused):
        at_once(lambda: 1, refuses)
