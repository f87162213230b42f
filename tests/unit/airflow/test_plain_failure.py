"""A task that fails ends its log with one sentence; what is no failure, and what nobody foresaw, passes as it is."""

from __future__ import annotations

import logging
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, AirflowTaskTimeout
from airflow.sdk.execution_time.task_runner import _handle_current_task_failed

from kafka_dr_airflow.operators.plain_failure import fails_plainly


class Task:
    """What an operator is to the decorator."""

    task_id, execution_timeout = "health", timedelta(seconds=55)

    def __init__(self, ends_with: BaseException | None = None) -> None:
        self._ends_with = ends_with
        self.killed = False

    def on_kill(self) -> None:
        """End what it started."""
        self.killed = True

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


@pytest.mark.parametrize(
    ("error", "then"),
    [(AirflowFailException("refused"), "failed"), (AirflowException("the register did not answer"), "up_for_retry")],
)
def test_a_refusal_with_tries_left_is_final_and_shows_no_traceback_either(error: Exception, then: str) -> None:
    task = Task(error)
    with pytest.raises(SystemExit) as ended:
        task.execute(context(attempt=1, retries=2))
    # What Airflow's task runner does with it, which logs no traceback of a SystemExit.
    server = SimpleNamespace(max_tries=2, should_retry=True)
    ti: Any = SimpleNamespace(
        task=task,
        try_number=1,
        rendered_map_index=None,
        stats_tags={},
        _failure_metrics_emitted=True,
        _ti_context_from_server=server,
    )
    log: Any = logging.getLogger(__name__)
    assert _handle_current_task_failed(ti, ended.value, log)[1] == then


@pytest.mark.parametrize("error", [AirflowSkipException("nothing to do"), ValueError("a mistake of ours")])
def test_what_is_no_failure_and_what_nobody_foresaw_passes_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as ended:
        Task(error).execute(context())
    assert ended.value is error


def test_a_task_that_ends_well_returns_what_it_has() -> None:
    assert Task().execute(context()) == "done as r1"


def test_a_task_that_reaches_its_limit_ends_what_it_started_and_says_so_in_a_sentence() -> None:
    task = Task(AirflowTaskTimeout("Timeout, PID: 7"))
    with pytest.raises(SystemExit, match=r"^health was ended after 55 s, its time limit .* clear the task") as ended:
        task.execute(context())
    assert ended.value.__cause__ is None
    assert task.killed
