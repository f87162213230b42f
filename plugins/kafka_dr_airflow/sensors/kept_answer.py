"""The answer that Airflow keeps of an earlier try of an approval. Its interface for tasks gives no answers out."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

from airflow.sdk.exceptions import AirflowNotFoundException

from kafka_dr.airflow_api import CONNECTION, AirflowRestApi, advice
from kafka_dr.clock import SystemClock
from kafka_dr.waiting import wait_until
from kafka_dr_airflow.task_api import ERRORS, task_api

#: How long an API that fails is asked again, and the pause before it is.
_SECONDS, _PAUSE_SECONDS = 30.0, 2.0


def kept_answer(ti: Any) -> dict[str, Any] | str:
    """Return an answer as Airflow passes it to a task that it resumes, or why there is none, as a clause.

    Airflow moves the answer to the present try, or leaves it with the one that was asked.

    :param ti: the task's own instance
    """
    try:
        found = wait_until(
            lambda: _found(ti),
            lambda _: True,
            clock=SystemClock(),
            seconds=_SECONDS,
            pause_seconds=_PAUSE_SECONDS,
            retry=OSError,
        )
    except AirflowNotFoundException:
        return f"Airflow has no connection {CONNECTION}, with which this task would look for its answer"
    except ERRORS as error:
        return f"whether that was answered is not known. {advice(error)}"
    return found or "Airflow has no answer to it"


def _found(ti: Any) -> dict[str, Any] | None:
    api = task_api()
    dag, run, task = (quote(name, safe="") for name in (ti.dag_id, ti.run_id, ti.task_id))
    present = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/{ti.map_index}/hitlDetails"
    for path in (present, *(f"{present}/tries/{number}" for number in range(ti.try_number - 1, 0, -1))):
        if at := (kept := _asked(api, path)).get("responded_at"):
            return {**kept, "responded_at": datetime.fromisoformat(at)}
    return None


def _asked(api: AirflowRestApi, path: str) -> dict[str, Any]:
    try:
        return api.ask("GET", path)
    except HTTPError as error:
        if error.code == 404:  # this try asked nobody
            return {}
        raise
