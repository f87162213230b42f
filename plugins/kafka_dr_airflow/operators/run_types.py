"""Why a run of a DAG was started: by its schedule, by a person, or by what another run did."""

from __future__ import annotations

from typing import Any


def is_scheduled(dag_run: Any) -> bool:
    """Return whether the schedule started a run."""
    return run_type(dag_run) == "scheduled"


def is_manual(dag_run: Any) -> bool:
    """Return whether somebody, or a program of theirs, triggered a run."""
    return run_type(dag_run) == "manual"


def is_waited_for(dag_run: Any) -> bool:
    """Return whether somebody waits for what a run finds: they triggered it, or a proposal of a failover did."""
    return is_manual(dag_run) or run_type(dag_run) == "operator_triggered"


def run_type(dag_run: Any) -> str:
    """Return why a run was started. Airflow gives its tasks an enumeration whose text is not its value.

    :returns: a value of Airflow's ``DagRunType``
    """
    return str(getattr(dag_run.run_type, "value", dag_run.run_type))
