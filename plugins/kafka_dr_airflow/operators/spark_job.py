"""A Spark job of this project as a task: which connections it gets, and how its result is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import psutil
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from kafka_dr.project import PROJECT
from kafka_dr.spark_submit import spark_submit_environ
from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.operators.run_types import is_waited_for
from kafka_dr_airflow.topology_file import read_topology

#: The Airflow connection of type ``spark`` that says where Spark runs.
SPARK_CONNECTION = "kafka_dr_spark"
#: How the line begins in which a job says what it could not find out.
_UNKNOWN = "unknown: "
#: The exit code that the provider shows.
_EXIT_CODE = re.compile(r"(?<=Error code is: )-?\d+")
_NOT_RUN = f"Spark could not run the job: the log says why; check connection {SPARK_CONNECTION}"
_NO_SPARK = "this worker has no spark-submit, on its PATH or next to its Python: install Spark there"
#: Added to the niceness of a job that nobody waits for: other processes get about ten times as much of the processor.
_NICER = 10


class SparkJobOperator(SparkSubmitOperator):
    """Submits a job. Subclasses give the arguments and interpret the result.

    The connections that the job needs are in a file that only the user of this task can read, and that exists only
    while the job runs. No secret is an argument, a setting of Spark or a rendered field.

    :param job: the name of the job
    """

    ui_color = "#e6e0f0"

    def __init__(self, *, job: str, **kwargs: Any) -> None:
        defaults = {
            "application": _application(job),
            "conn_id": SPARK_CONNECTION,
            "deploy_mode": "client",  # the driver reads the file of connections, which is on this machine
        }
        super().__init__(**{**defaults, **kwargs})
        self._secrets: Any = None
        #: The path of what this task wrote, below the evidence root; empty until it is known.
        self.report_path = ""

    def begin(self, job: str, arguments: list[str]) -> None:
        """Prepare the next of several jobs of one task."""
        self.application, self.application_args = _application(job), arguments
        # The provider's hook keeps the arguments of the job before.
        self._hook: Any = None

    def on_kill(self) -> None:
        """Remove the file of connections and end the application, its driver included."""
        if self._secrets is not None:
            self._secrets.remove()
        if self._hook is None:
            return
        # The provider ends spark-submit alone: the driver is a child of that and would not end with it.
        submitted = getattr(self._hook, "_submit_sp", None)
        started = _below(submitted.pid) if submitted is not None and submitted.poll() is None else []
        super().on_kill()
        for process in started:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def at_its_limit(self) -> str:
        """Say what a task that ran out of time leaves, and what to do."""
        return (
            f"its Spark application ({self.name}) was ended, and nothing was judged. Expected a report by then: look "
            "at the load of this worker and of Spark, and at what the log above shows last. The next run asks again; "
            "if it has too little time, too, raise execution_timeout in the DAG"
        )

    @contextmanager
    def reachable(self, connections: Iterable[str], *, encrypts: bool = False) -> Iterator[None]:
        """Write the file of connections, and name it in the environment of the processes that are started meanwhile.

        It holds connections of principals that may only read: what a job needs of Connect is in topics, and whoever may
        ask Connect's REST API may change flows.

        :param connections: the connection ids by which the job reaches clusters
        :param encrypts: whether it gets the key that encrypts stranded records, if the topology names one
        """
        from kafka_dr_airflow.secrets_file import SETTING, SecretsFile, content_key_entry, kafka_entry

        with plain_errors():
            topology = read_topology(os.environ)
            entries = {each: kafka_entry(each) for each in connections}
            if encrypts and (encryption := topology.evidence.encryption_connection) is not None:
                entries[encryption] = content_key_entry(encryption)
        with SecretsFile(entries) as self._secrets:
            os.environ[SETTING] = str(self._secrets.path)
            try:
                yield
            finally:
                del os.environ[SETTING]

    def submit(self, context: Any) -> str | None:
        """Run the job. Return ``None`` if it has an answer, else what it could not find out or how it failed."""
        os.environ |= spark_submit_environ(os.environ)
        try:
            with nullcontext() if is_waited_for(context["dag_run"]) else _giving_way():
                super().execute(context)
        except AirflowException as error:
            ended = str(error)
            if said := [line for line in ended.splitlines() if line.startswith(_UNKNOWN)]:
                return said[-1].removeprefix(_UNKNOWN)
            return None if self.is_an_answer(ended) else _without_answer(ended)
        except FileNotFoundError:
            return _NO_SPARK
        return None

    def is_an_answer(self, ended: str) -> bool:
        """Return whether an exit code that Spark treats as a failure is one of the job's answers.

        :param ended: the exit code and the last lines, as the provider shows them
        """
        return False


def audit_connections(clusters: Iterable[str]) -> list[str]:
    """Return the connection ids of the audit role on clusters of the topology."""
    with plain_errors():
        topology = read_topology(os.environ)
        return [topology.cluster(name).connections.audit for name in clusters]


def _without_answer(ended: str) -> str:
    code = _EXIT_CODE.search(ended)
    return f"Spark ended the job (exit code {code[0]}) without an answer: the log says why" if code else _NOT_RUN


def _application(job: str) -> str:
    return str(PROJECT / "spark" / "jobs" / f"{job}.py")


def _below(pid: int) -> list[psutil.Process]:
    """Return the processes that a process has started, and those that they have started."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@contextmanager
def _giving_way() -> Iterator[None]:
    """Start processes in the block with a lower priority: a failover may run on this machine."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, before + _NICER)
    try:
        yield
    finally:
        with suppress(PermissionError):  # only root may raise it again; this process ends soon
            os.setpriority(os.PRIO_PROCESS, 0, before)
