"""Whether a run still runs, as Airflow knows: one that a person ended leaves its open question in the register."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from kafka_dr.quoting import inline
from kafka_dr_airflow.task_api import ERRORS

if TYPE_CHECKING:
    from kafka_dr.watch_results import OpenRun, RunEnding, RunningStep

#: Given the DAG and the run, whether Airflow knows that it has ended.
HasEnded = Callable[[str, str], bool]
_RUNS = {"queued", "running"}
_ENDED = ["success", "failed"]


def still_runs(verb: str, run: str) -> bool:
    """Return whether this Airflow knows that a run has not ended. Of a run of the command line, it knows nothing.

    Asked by a task, through Airflow's interface for tasks.
    """
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    try:
        return RuntimeTaskInstance.get_dagrun_state(f"dr_{verb}", run) in _RUNS
    except ERRORS:
        return False


def has_ended(dag_id: str, run: str) -> bool:
    """Return whether this Airflow knows that a run has ended. Of a run of another Airflow it knows nothing.

    Asked by a task, through Airflow's interface for tasks.
    """
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    try:
        return bool(RuntimeTaskInstance.get_dr_count(dag_id, run_ids=[run], states=_ENDED))
    except ERRORS:
        return False


def ended_in_airflow(
    asked: Iterable[OpenRun], running: Iterable[RunningStep], has_ended: HasEnded, now: datetime
) -> dict[tuple[str, str], RunEnding]:
    """Return how open runs ended that a person ended in Airflow, by group and run. That skips the task that lists them.

    A run that may hold its group is not one of them: health says what became of it.

    :param now: UTC
    """
    from kafka_dr.watch_results import RunEnding

    steps = {(each.group, each.run): each for each in running}
    questions = {(each.group, each.run): each for each in asked}
    found = {}
    for key in {**steps, **questions}:
        step, question = steps.get(key), questions.get(key)
        dag_id = question.dag_id if question is not None else step.dag_id if step is not None else ""
        if (step is None or not step.holds) and dag_id and has_ended(dag_id, key[1]):
            found[key] = RunEnding(key[1], dag_id, _note(question, step), False, now)
    return found


def _note(asked: OpenRun | None, step: RunningStep | None) -> str:
    """Return the note of a run that was ended in Airflow and did not hold its group."""
    if asked is not None and asked.answered_by:
        return (
            f"ENDED IN AIRFLOW after {inline(asked.answered_by)} had answered: the group's phase in the register says "
            "whether something was changed"
        )
    when = f" during {inline(step.title)}" if asked is None and step is not None else ""
    when = " while it waited for an answer" if asked is not None and not asked.dry_run else when
    return f"ENDED IN AIRFLOW{when}: nothing was changed, and nothing has to be cleared. A new run begins again"
