"""What this project needs of Airflow's own settings: judged when the DAGs load, and by readiness.

With other values everything still runs; each line says what is then slower, or less safe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowNotFoundException

from kafka_dr.outcomes import Check
from kafka_dr.quoting import line
from kafka_dr_airflow.airflow_api import CONNECTION, ERRORS, TaskApi, advice

#: The parts of a connection that hold a secret, and that Airflow does not hide by itself.
_SECRETS = ("ssl.key.pem", "sasl.jaas.config")
#: A failover and the watches that run at the same time.
_TASKS = 8
_POOL = "default_pool"


@dataclass(frozen=True, slots=True)
class AirflowOption:
    """An option of Airflow's configuration that matters here.

    :param check: the name of the check
    :param enough: whether a value is good enough
    :param expected: what the value should be, as it continues "expected …"
    :param otherwise: what happens with other values
    """

    check: str
    section: str
    option: str
    enough: Callable[[str], bool]
    expected: str
    otherwise: str

    def judged(self) -> Check:
        """Return whether the value of this process is good enough."""
        value = str(conf.get(self.section, self.option, fallback=""))
        name = f"[{self.section}] {self.option}"
        try:
            good = self.enough(value)
        except ValueError:
            good = False
        if good:
            return Check(self.check, "ok", f"{name} is {value}")
        return Check(
            self.check, "warning", f"Set {name} to {self.expected}; it is {line(value) or 'empty'}. {self.otherwise}"
        )


SETTINGS = (
    AirflowOption(
        "airflow_hides_secrets",
        "core",
        "sensitive_var_conn_names",
        lambda value: {*_SECRETS} <= {each.strip() for each in value.split(",")},
        f"{','.join(_SECRETS)} or more",
        "Until then Airflow shows private keys and logins in the extra of a connection.",
    ),
    AirflowOption(
        "airflow_notices_lost_workers",
        "scheduler",
        "task_instance_heartbeat_timeout",
        lambda value: float(value) <= 60,
        "at most 60",
        "Airflow notices only after that time that the worker of a switch was killed, and writes may be refused so "
        "long.",
    ),
    AirflowOption(
        "airflow_loads_dags",
        "core",
        "dagbag_import_timeout",
        lambda value: float(value) >= 30,
        "at least 30",
        "A DAG that loads longer than that on a busy machine disappears, or its task fails.",
    ),
    AirflowOption(
        "airflow_tasks_wait_for_its_api",
        "workers",
        "execution_api_retries",
        lambda value: int(value) >= 10,
        "at least 10",
        "A task fails if Airflow's API server is away for a few seconds, for example while it restarts.",
    ),
    AirflowOption(
        "airflow_parallelism",
        "core",
        "parallelism",
        lambda value: int(value) >= _TASKS,
        f"at least {_TASKS}",
        "A failover may have to wait until watches have ended, which can take minutes.",
    ),
)


def judged() -> tuple[Check, ...]:
    """Return whether each option of this process is good enough. Nobody is asked."""
    return tuple(each.judged() for each in SETTINGS)


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
    if 0 <= slots < _TASKS:
        said = f"Give {_POOL} at least {_TASKS} slots; it has {slots}. A failover may have to wait for other tasks."
        return Check(name, "warning", said)
    return Check(name, "ok", f"{_POOL} has {slots if slots >= 0 else 'any number of'} slots")
