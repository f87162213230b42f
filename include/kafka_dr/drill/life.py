"""Whether somebody still carries out a drill that has not ended, and what to read of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from kafka_dr.drill.result import DrillResult
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.watch_results import RunningStep, RunningSteps

#: Between two tasks of a drill a busy Airflow may need so long.
_NEXT_TASK_WITHIN = timedelta(minutes=5)


def has_died(result: DrillResult, step: RunningStep | None, now: datetime) -> bool:
    """Return whether a drill has not ended, and nobody executes it any more.

    :param step: what it executes, or executed last; ``None`` if nothing is kept of that
    :param now: UTC
    """
    if result.stage == "ended":
        return False
    if step is not None and step.ended_at is None:
        return step.is_silent(now)
    return now - max(result.ended_at, step.seen_at if step else result.ended_at) > _NEXT_TASK_WITHIN


def step_of(root: Any, result: DrillResult) -> RunningStep | None:
    """Return what a drill executes, or executed last; ``None`` if nothing readable is kept of that.

    :param root: the evidence root, a path object
    """
    try:
        return RunningSteps(root).of(result.group, result.id)
    except (DocumentDamaged, OSError):
        return None


def is_dead(root: Any, result: DrillResult, now: datetime) -> bool:
    """Return whether a drill has died, as :func:`has_died`, by what is kept of its steps. One that ended is not read.

    :param root: the evidence root, a path object
    :param now: UTC
    """
    return result.stage != "ended" and has_died(result, step_of(root, result), now)


def said_of(result: DrillResult, *, died: bool) -> str:
    """Return a drill in one line.

    :param died: see :func:`has_died`
    """
    if not died:
        return result.summary
    return (
        f"the {result.kind} drill {result.id} of {result.group} stopped, and no process executes it any more. "
        "Remove what it may have left with the command drill --teardown, unless its task teardown does that now"
    )
