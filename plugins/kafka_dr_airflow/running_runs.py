"""Whether a run still runs, as Airflow knows: one that a person ended leaves its open question in the register."""

from __future__ import annotations

from kafka_dr_airflow.airflow_api import ERRORS

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
