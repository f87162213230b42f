"""Whether Airflow's own settings are as this project needs them: judged when the DAGs load, and by readiness."""

from __future__ import annotations

from typing import Any

from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowNotFoundException

from kafka_dr.outcomes import Check
from kafka_dr.readiness_checks import airflow_checks
from kafka_dr.set_up.airflow_options import SETTINGS
from kafka_dr_airflow.task_api import ERRORS, task_api


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
    """Return the same, and what Airflow's API says to the user that tasks have."""
    try:
        return (*judged(), *airflow_checks.answers(task_api()))
    except AirflowNotFoundException:
        return (*judged(), *airflow_checks.NO_CONNECTION)
    except ERRORS as error:
        return (*judged(), *airflow_checks.unanswered(error))
