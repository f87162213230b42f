"""The question in the terminal."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import Iterator
from typing import TextIO

import pytest
from rich.console import Console

from lab.demo.airflow_rest import PendingApproval
from lab.demo.terminal_approval import APPROVE, REJECT, ask, show


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    person, program = pty.openpty()
    with os.fdopen(program, "r") as stdin:
        yield person, stdin
    os.close(person)


def never() -> bool:
    return False


def test_the_address_of_the_page_is_whole_on_a_narrow_terminal_next_to_who_may_answer() -> None:
    shown = io.StringIO()
    page = "http://127.0.0.1:22200/kafka-dr/question/dr_unplanned_failover/orders/demo-20261127T141735Z-east-to-west"
    question = PendingApproval("Move?", "", (APPROVE, REJECT), {}, ("carol", "dave"), None, None)
    show(question, Console(file=shown, width=80), page=page)
    assert page in shown.getvalue().splitlines()
    assert "carol or dave can answer" in shown.getvalue()


@pytest.mark.parametrize(("typed", "option"), [("y\n", APPROVE), ("NO\n", REJECT), ("perhaps\nyes\n", APPROVE)])
def test_a_clear_answer_is_taken(terminal: tuple[int, TextIO], typed: str, option: str) -> None:
    person, stdin = terminal
    for line in typed.splitlines(keepends=True):
        os.write(person, line.encode())
    assert ask(Console(file=io.StringIO()), answered_elsewhere=never, stdin=stdin) == option


def test_an_answer_in_airflow_ends_the_question(terminal: tuple[int, TextIO]) -> None:
    assert ask(Console(file=io.StringIO()), answered_elsewhere=lambda: True, stdin=terminal[1]) is None


def test_without_a_terminal_only_airflow_can_answer() -> None:
    looks = iter([False, True])
    shown = io.StringIO()
    assert ask(Console(file=shown), answered_elsewhere=lambda: next(looks), stdin=io.StringIO("y\n")) is None
    assert "--yes" in shown.getvalue()


def test_the_end_of_input_leaves_it_to_airflow(terminal: tuple[int, TextIO]) -> None:
    looks = iter([False, False, True])
    os.write(terminal[0], b"\x04")
    assert ask(Console(file=io.StringIO()), answered_elsewhere=lambda: next(looks), stdin=terminal[1]) is None
