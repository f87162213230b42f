"""Whether Airflow's own settings are as this project needs them: judged when the DAGs load, and by readiness."""

from __future__ import annotations

from typing import Any

from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowNotFoundException

from kafka_dr.outcomes import Check
from kafka_dr.set_up.airflow_options import MOST_TASKS, SETTINGS
from kafka_dr_airflow.airflow_api import CONNECTION, ERRORS, TaskApi, advice

_POOL = "default_pool"


def judged() -> tuple[Check, ...]:
    """Return whether each option of this process is good enough. Nobody is asked."""
    return tuple(each.judged(str(conf.get(each.section, each.option, fallback=""))) for each in SETTINGS)


def warn_of_settings(log: Any) -> None:
    """Log what is to be set otherwise; once for each process that loads the DAGs.

    :param log: a logger
    """
    for check in judged():
        if check.outcome != "ok":
            log.warning("%s", check.detail)


def judged_with_api() -> tuple[Check, ...]:
    """Return the same, and whether Airflow's API gives out answers and the size of the pool that all tasks use."""
    return (*judged(), _quick_answers(), _pool())


def _quick_answers() -> Check:
    """Return whether an approval survives an answer that comes before Airflow has noticed that it waits."""
    name, lost = "airflow_keeps_quick_answers", "An answer within seconds of its question may end the run unchanged"
    try:
        TaskApi.logged_in().ask("GET", "/api/v2/dags/~/dagRuns/~/hitlDetails?limit=1")
    except AirflowNotFoundException:
        said = f"Create the connection {CONNECTION}, with which a task reads an answer that Airflow keeps"
        return Check(name, "warning", f"{said}. {lost}.")
    except ERRORS as error:
        said = f"{lost}, as answers cannot be read. {advice(error)}"
        return Check(
            name, "warning", f"{said}. Its user needs the right to see the runs of all DAGs and their answers."
        )
    return Check(name, "ok", "a task can read the answers that Airflow keeps")


def _pool() -> Check:
    name = "airflow_pool"
    try:
        slots = int(TaskApi.logged_in().ask("GET", f"/api/v2/pools/{_POOL}")["slots"])
    except AirflowNotFoundException:
        return Check(name, "excused", f"the size of {_POOL} is not looked at: there is no connection {CONNECTION}")
    except ERRORS as error:
        return Check(name, "excused", f"the size of {_POOL} cannot be read. {advice(error)}")
    if 0 <= slots < MOST_TASKS:
        said = f"Give {_POOL} at least {MOST_TASKS} slots; it has {slots}. A failover may have to wait for other tasks."
        return Check(name, "warning", said)
    return Check(name, "ok", f"{_POOL} has {slots if slots >= 0 else 'any number of'} slots")
