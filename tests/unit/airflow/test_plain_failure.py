"""A task that fails ends its log with one sentence; what is no failure, and what nobody foresaw, passes as it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from kafka_dr_airflow.operators.plain_failure import fails_plainly


class Task:
    """What an operator is to the decorator."""

    def __init__(self, ends_with: Exception | None = None) -> None:
        self._ends_with = ends_with

    @fails_plainly
    def execute(self, context: Any) -> str:
        """Do its work."""
        if self._ends_with is not None:
            raise self._ends_with
        return f"done as {context['run_id']}"


def context(*, attempt: int = 1, retries: int = 0) -> dict[str, Any]:
    return {"run_id": "r1", "ti": SimpleNamespace(try_number=attempt, max_tries=retries)}


@pytest.mark.parametrize("error", [AirflowException, AirflowFailException])
def test_a_failure_carries_its_sentence_and_nothing_that_a_traceback_would_show(error: type[Exception]) -> None:
    with pytest.raises(SystemExit, match=r"^preflight was refused: nothing moves\.$") as ended:
        Task(error("preflight was refused: nothing moves.")).execute(context())
    assert ended.value.__cause__ is None
    assert ended.value.__suppress_context__


def test_what_must_not_be_tried_again_is_not_though_the_task_has_tries_left() -> None:
    with pytest.raises(AirflowFailException):
        Task(AirflowFailException("refused")).execute(context(attempt=1, retries=2))
    with pytest.raises(SystemExit):
        Task(AirflowFailException("refused")).execute(context(attempt=3, retries=2))


def test_what_may_be_tried_again_is_left_to_airflow() -> None:
    with pytest.raises(SystemExit):
        Task(AirflowException("the register did not answer")).execute(context(attempt=1, retries=2))


@pytest.mark.parametrize("error", [AirflowSkipException("nothing to do"), ValueError("a mistake of ours")])
def test_what_is_no_failure_and_what_nobody_foresaw_passes_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as ended:
        Task(error).execute(context())
    assert ended.value is error


def test_a_task_that_ends_well_returns_what_it_has() -> None:
    assert Task().execute(context()) == "done as r1"
