"""What this project needs of Airflow's own settings. With other values everything still runs, slower or less safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafka_dr.outcomes import Check
from kafka_dr.quoting import line

#: The parts of a connection that hold a secret, and that Airflow does not hide by itself.
_SECRETS = ("ssl.key.pem", "sasl.jaas.config")
#: A failover and the watches that run at the same time.
MOST_TASKS = 8


@dataclass(frozen=True, slots=True)
class AirflowOption:
    """An option of Airflow's configuration that matters here.

    :param check: the name of the check
    :param enough: whether a value is good enough; may raise ``ValueError``
    :param good: a value that is
    :param expected: what the value should be, as it continues "expected …"
    :param otherwise: what happens with other values
    """

    check: str
    section: str
    option: str
    enough: Callable[[str], bool]
    good: str
    expected: str
    otherwise: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AIRFLOW__{self.section.upper()}__{self.option.upper()}"

    def judged(self, value: str) -> Check:
        """Return whether a value is good enough."""
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
        ",".join(_SECRETS),
        f"{','.join(_SECRETS)} or more",
        "Until then Airflow shows private keys and logins in the extra of a connection.",
    ),
    AirflowOption(
        "airflow_notices_lost_workers",
        "scheduler",
        "task_instance_heartbeat_timeout",
        lambda value: float(value) <= 60,
        "60",
        "at most 60",
        "Airflow notices only after that time that the worker of a switch was killed, and writes may be refused so "
        "long.",
    ),
    AirflowOption(
        "airflow_loads_dags",
        "core",
        "dagbag_import_timeout",
        lambda value: float(value) >= 30,
        "30",
        "at least 30",
        "A DAG that loads longer than that on a busy machine disappears, or its task fails.",
    ),
    AirflowOption(
        "airflow_tasks_wait_for_its_api",
        "workers",
        "execution_api_retries",
        lambda value: int(value) >= 10,
        "10",
        "at least 10",
        "A task fails if Airflow's API server is away for a few seconds, for example while it restarts.",
    ),
    AirflowOption(
        "airflow_parallelism",
        "core",
        "parallelism",
        lambda value: int(value) >= MOST_TASKS,
        "32",
        f"at least {MOST_TASKS}",
        "A failover may have to wait until watches have ended, which can take minutes.",
    ),
)
