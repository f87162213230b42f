from __future__ import annotations

from threading import Barrier, Event

import pytest

from kafka_dr.errors import Refused
from kafka_dr.runs.background import BackgroundCall, Silent, answers_within, ask


def test_an_answer_is_returned_and_an_error_raised_where_it_is_waited_for() -> None:
    assert ask("east", lambda: 7, seconds=2) == 7

    def refuse() -> int:
        raise Refused("no")

    with pytest.raises(Refused, match="no"):
        ask("east", refuse, seconds=2)


def test_what_hangs_is_left_behind_and_named() -> None:
    over = Event()
    with pytest.raises(Silent, match=r"no answer to east within 0\.2 s"):
        ask("east", lambda: over.wait(20), seconds=0.2)
    over.set()


def test_everything_is_asked_at_the_same_time() -> None:
    all_have_begun = Barrier(3)
    names = ("east", "west", "north")
    answers = answers_within({name: lambda: all_have_begun.wait(60) >= 0 for name in names}, seconds=60)
    assert answers == dict.fromkeys(names, True)


def test_what_hangs_is_named_instead_of_answered() -> None:
    over = Event()
    answers = answers_within({"east": lambda: over.wait(60), "west": lambda: over.wait(60)}, seconds=0.3)
    assert {name: type(answer) for name, answer in answers.items()} == {"east": Silent, "west": Silent}
    over.set()


def test_the_time_counts_from_the_question_and_a_late_answer_is_an_answer() -> None:
    over = Event()
    question = BackgroundCall("east", lambda: over.wait(20))
    assert not question.answered
    with pytest.raises(Silent):
        question.within(0)
    over.set()
    assert question.within(20) is True
    assert question.answered
