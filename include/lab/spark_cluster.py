"""A standalone Spark cluster of the lab: one master and two workers from the jars of ``pyspark``, on the loopback.

Only who knows the lab's secret can join it or submit to it, and what goes between its processes is encrypted: the plans
that the driver sends to executors hold the logins of Kafka.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lab.context import LabContext
from lab.credentials import write_private
from lab.layout import LOOPBACK
from lab.processes import Command
from lab.startup import Startup

MASTER = "spark-master"
WORKERS = ("spark-worker-1", "spark-worker-2")
#: Of each worker. Two applications share the cluster: each has one executor of one core on each worker.
WORKER_CORES = 2
EXECUTOR_MEMORY = "768m"
_WORKER_MEMORY = "1600m"
_DAEMON_MEMORY = "192m"
_READY_SECONDS = 120.0
#: What the master writes when a worker has joined, and a worker when its master has taken it.
_JOINED = "Successfully registered with master"


def settings(secret: str) -> dict[str, str]:
    """Return Spark's settings by which processes of the cluster and drivers trust each other.

    :param secret: of the lab
    """
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": "true",
    }


def driver_settings(context: LabContext) -> dict[str, str]:
    """Return the settings of an application on this cluster."""
    return {
        **settings(context.credentials.key("spark")),
        "spark.master": context.settings.ports.spark_url,
        "spark.cores.max": str(len(WORKERS)),
        "spark.executor.cores": "1",
        "spark.executor.memory": EXECUTOR_MEMORY,
    }


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """Master and workers as one part of an ``up``.

    :param environ: how Spark finds its Java; no secrets
    """

    context: LabContext
    environ: Mapping[str, str]

    def ports(self) -> list[tuple[int, str]]:
        """The ports that the processes listen on."""
        ports = self.context.settings.ports
        found = [(ports.spark_master, MASTER), (ports.spark_master + 1, MASTER)]
        for number, name in enumerate(WORKERS, start=1):
            found += [(ports.spark_worker(number), name), (ports.spark_worker(number) + 1, name)]
        return found

    def start(self, startup: Startup) -> None:
        """Start what does not run, and wait until the master has both workers.

        :raises LabError: one of them did not become ready
        """
        ports = self.context.settings.ports
        folder = self.context.home.spark_cluster
        conf = {**settings(self.context.credentials.key("spark")), "spark.worker.cleanup.enabled": "true"}
        text = "".join(f"{name} {value}\n" for name, value in conf.items())
        write_private(folder / "conf" / "spark-defaults.conf", text)
        (folder / "conf" / "log4j2.properties").write_text(_LOGGING)
        startup.start(self._command(MASTER, "org.apache.spark.deploy.master.Master", ports.spark_master))
        startup.wait(
            [MASTER], lambda: _answers(ports.spark_master), seconds=_READY_SECONDS, expected="an answer at its port"
        )
        for number, name in enumerate(WORKERS, start=1):
            work = folder / name
            work.mkdir(parents=True, exist_ok=True)
            more = ("--cores", str(WORKER_CORES), "--memory", _WORKER_MEMORY, "--work-dir", str(work))
            command = (*more, ports.spark_url)
            startup.start(
                self._command(name, "org.apache.spark.deploy.worker.Worker", ports.spark_worker(number), *command)
            )
        for name in WORKERS:
            log = startup.supervisor.log(name)
            startup.wait(
                [name, MASTER],
                lambda log=log: _JOINED in log.read_text(errors="replace"),  # type: ignore[misc]
                seconds=_READY_SECONDS,
                expected="the answer of the master that it has joined",
            )
        startup.report("Spark: a master and two workers", startup.seconds())

    def _command(self, name: str, main_class: str, port: int, *more: str) -> Command:
        import pyspark

        spark_home = Path(pyspark.__file__).parent
        listen = ("--host", LOOPBACK, "--port", str(port), "--webui-port", str(port + 1))
        environ = {
            **self.environ,
            "SPARK_HOME": str(spark_home),
            "SPARK_CONF_DIR": str(self.context.home.spark_cluster / "conf"),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        }
        argv = (str(spark_home / "bin" / "spark-class"), main_class, *listen, *more)
        return Command(name, argv, self.context.home.spark_cluster, environ)


def _answers(port: int) -> bool:
    with closing(socket.socket()) as tried:
        tried.settimeout(1.0)
        return tried.connect_ex((LOOPBACK, port)) == 0


_LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_OUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601}{UTC}Z %-5p %c{1}: %m%n
"""
