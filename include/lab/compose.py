"""Run by itself in a container of docker-compose.yml: write its files, provision its clusters, or look at Airflow.

The same data and code as the lab without Docker; only the names of the hosts differ. The folder of the world is a
volume that all containers share.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from lab import airflow_home, brokers, clients, connect, credentials, java, provisioning, rights, spark
from lab.airflow_readiness import ReadinessApi
from lab.context import LabContext
from lab.credentials import write_private
from lab.errors import NotReady
from lab.layout import DEFAULT_PORT_BASE, LOOPBACK, Home, Settings

SETTINGS = Settings(port_base=DEFAULT_PORT_BASE, brokers=1, docker=True)
SECONDS = 120.0


def context(home: Home) -> LabContext:
    """The world of the containers, its passwords made if it has none yet."""
    passwords = credentials.obtain(home, clusters=SETTINGS.names, principals=rights.PRINCIPALS)
    return LabContext(home=home, settings=SETTINGS, credentials=passwords)


def write_files(home: Home) -> None:
    """Write the settings of every broker, worker and client, and those of Airflow."""
    here = context(home)
    clients.write_files(here)
    airflow_home.write(here)
    for cluster in here.clusters:
        for node in cluster.nodes(SETTINGS):
            folder = home.broker(node.name)
            text = brokers.server_properties(here, cluster, node, data=folder / "data")
            write_private(folder / "server.properties", text)
        folder = home.connect(cluster.name)
        write_private(folder / "secrets.properties", connect.secret_properties(here))
        write_private(folder / "worker.properties", connect.worker_properties(here, cluster))


def prepare_spark(home: Home, *, cache: Path) -> dict[str, str]:
    """Let Spark run next to Airflow, on a Java from PyPI; return the environment that Airflow's tasks need for it."""
    return spark.prepare(home, java_home=java.java_home(os.environ), cache=cache, environ=os.environ)


def provision(home: Home, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Wait for the brokers, then create users, rights and topics.

    :raises NotReady: the brokers of a cluster do not answer.
    """
    here = context(home)
    deadline = clock() + SECONDS
    for cluster in here.clusters:
        while not provisioning.brokers_answer(here, cluster):
            if clock() > deadline:
                raise NotReady(f"{cluster.name} did not answer within {SECONDS:.0f} s: see the log of its broker")
            time.sleep(0.5)
        provisioning.provision(here, cluster)


def airflow_is_healthy(home: Home) -> bool:
    """Return whether the Airflow of this container answers, and all its parts are healthy."""
    here = context(home)
    rest = ReadinessApi(url=f"http://{LOOPBACK}:{SETTINGS.ports.airflow}", password=here.credentials.airflow("admin"))
    return rest.is_healthy(since=datetime.now(UTC), started=frozenset())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder]:
            write_files(Home(Path(folder)))
            prepare_spark(Home(Path(folder)), cache=Path(folder) / "downloads")
        case ["provision", folder]:
            provision(Home(Path(folder)))
        case ["healthy", folder]:
            sys.exit(0 if airflow_is_healthy(Home(Path(folder))) else "Airflow is not healthy yet")
        case other:
            sys.exit(f"expected `write`, `provision` or `healthy` and a folder, got {other}")
