"""A job of ours as a task: how Spark is reached, what the job may know of connections, and what it says at its end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.topology_file import read_topology

_JOBS = Path(__file__).resolve().parents[3] / "spark" / "jobs"
#: The Airflow connection of type ``spark`` that says where Spark runs.
SPARK_CONNECTION = "kafka_dr_spark"
#: With this a job begins the line that says what it could not find out.
_UNKNOWN = "unknown: "
#: How much less a job counts than what else wants the processor: about a tenth.
_NICER = 10


class SparkJobOperator(SparkSubmitOperator):
    """Submits a job; whoever inherits says with which arguments, and what its result means.

    What Spark needs to know of connections lies in a file that only this task's user can read, and only while it runs;
    nothing of it is an argument, a setting of Spark or a rendered field.

    :param job: the name of its file
    """

    ui_color = "#e6e0f0"

    def __init__(self, *, job: str, **kwargs: Any) -> None:
        defaults = {
            "application": str(_JOBS / f"{job}.py"),
            "conn_id": SPARK_CONNECTION,
            "deploy_mode": "client",  # the driver reads the file of connections, which is here
        }
        super().__init__(**{**defaults, **kwargs})
        self._secrets: Any = None
        #: Where what this task wrote is, below the evidence root; known when it runs.
        self.report_place = ""

    def on_kill(self) -> None:
        """Leave neither the file nor the application behind."""
        if self._secrets is not None:
            self._secrets.remove()
        super().on_kill()

    @contextmanager
    def reachable(self, *, logs: Iterable[str], connect: Iterable[str]) -> Iterator[None]:
        """Write the file of connections, and tell the processes that this one starts where it is.

        :param logs: the clusters whose logs the job reads
        :param connect: the clusters beside which the connectors run that it asks
        """
        from kafka_dr_airflow.secrets_file import SETTING, SecretsFile, connect_entry, kafka_entry

        with plain_errors():
            topology = read_topology(os.environ)
            entries = {each: kafka_entry(each) for each in (topology.cluster(name).connections.audit for name in logs)}
            entries |= {each: connect_entry(each) for each in (topology.cluster(name).connect for name in connect)}
        with SecretsFile(entries) as self._secrets:
            os.environ[SETTING] = str(self._secrets.path)
            try:
                yield
            finally:
                del os.environ[SETTING]

    def submit(self, context: Any) -> str | None:
        """Run the job; return what it could not find out, or how it ended where that was not well."""
        try:
            with _giving_way():
                super().execute(context)
        except AirflowException as error:
            ended = str(error)
            if said := [line for line in ended.splitlines() if line.startswith(_UNKNOWN)]:
                return said[-1].removeprefix(_UNKNOWN)
            return None if self.is_an_answer(ended) else ended
        return None

    def is_an_answer(self, ended: str) -> bool:
        """Return whether an end that Spark takes for a failure is one of the job's answers.

        :param ended: the exit code and the last lines, as the provider shows them
        """
        return False


@contextmanager
def _giving_way() -> Iterator[None]:
    """Let what is started inside the block wait where others want the processor: a failover may run on this machine."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, before + _NICER)
    try:
        yield
    finally:
        with suppress(PermissionError):  # only root may take it back; this process ends soon anyway
            os.setpriority(os.PRIO_PROCESS, 0, before)
