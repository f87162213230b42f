"""Airflow's four processes, each by itself, so that each can be killed and started again by itself."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab import airflow_home
from lab.credentials import Credentials
from lab.errors import LabError
from lab.layout import LOOPBACK, PROJECT, Home, Settings
from lab.processes import Command
from lab.startup import Startup

API_SERVER = "airflow-api-server"
SCHEDULER = "airflow-scheduler"
DAG_PROCESSOR = "airflow-dag-processor"
TRIGGERER = "airflow-triggerer"
PROCESSES = {
    API_SERVER: ("api-server",),
    SCHEDULER: ("scheduler", "--skip-serve-logs"),
    DAG_PROCESSOR: ("dag-processor",),
    TRIGGERER: ("triggerer", "--skip-serve-logs"),
}
READY_SECONDS = 120.0
DATABASE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Airflow:
    """Airflow as one part of an ``up``.

    :param environ: what DAGs read from the environment; no secrets.
    :param cache: where a migrated empty database is kept, so that it is migrated once for each set of pins.
    """

    home: Home
    settings: Settings
    credentials: Credentials
    environ: Mapping[str, str]
    cache: Path
    dags: Path = airflow_home.DAGS

    def ports(self) -> list[tuple[int, str]]:
        """The port of the user interface and API."""
        return [(self.settings.ports.airflow, API_SERVER)]

    def start(self, startup: Startup) -> None:
        """Start what does not run and wait until all four say that they are healthy.

        :raises LabError: one of them did not become healthy.
        """
        began = datetime.now(UTC)
        airflow_home.write(self.home, settings=self.settings, credentials=self.credentials, dags=self.dags)
        self._ensure_database()
        started = {name for name, arguments in PROCESSES.items() if startup.start(self._command(name, arguments))}
        self._ensure_connections()
        startup.supervisor.wait(
            list(PROCESSES),
            lambda: self._unhealthy(started, began) == [],
            seconds=READY_SECONDS,
            expected="a healthy answer about all of Airflow",
        )
        startup.report("Airflow", startup.seconds())

    def _command(self, name: str, arguments: tuple[str, ...]) -> Command:
        return Command(
            name=name,
            argv=(sys.executable, "-m", "airflow", *arguments),
            folder=self.home.airflow,
            environ=self._process_environ(),
            grace_seconds=8.0,
        )

    def _process_environ(self) -> dict[str, str]:
        commands = str(Path(sys.executable).parent)
        return {
            **self.environ,
            "AIRFLOW_HOME": str(self.home.airflow),
            "PYTHONPATH": str(PROJECT / "include"),
            "PATH": os.pathsep.join((commands, os.environ.get("PATH", os.defpath))),
        }

    def _ensure_database(self) -> None:
        """Have a database of this version; a migrated empty one comes from the cache if one was kept there."""
        database, stamp = self.home.airflow / "airflow.db", self.home.airflow / "database.stamp"
        pins = hashlib.sha256((PROJECT / "requirements.txt").read_bytes()).hexdigest()
        if database.exists() and stamp.exists() and stamp.read_text() == pins:
            return
        kept = self.cache / f"airflow-{pins[:16]}.sqlite"
        if database.exists():
            self._run("migrate")
        else:
            self._connections_stamp.unlink(missing_ok=True)
            for rest in self.home.airflow.glob("airflow.db-*"):
                rest.unlink()
            if kept.exists():
                shutil.copyfile(kept, database)
            else:
                self._run("migrate")
                _keep(database, kept)
        stamp.write_text(pins)

    def _ensure_connections(self) -> None:
        wanted = hashlib.sha256(airflow_home.connections_file(self.home).read_bytes()).hexdigest()
        if not self._connections_stamp.exists() or self._connections_stamp.read_text() != wanted:
            self._run("connections", str(airflow_home.connections_file(self.home)))
            self._connections_stamp.write_text(wanted)

    @property
    def _connections_stamp(self) -> Path:
        return self.home.airflow / "connections.stamp"

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "lab.airflow_database", *arguments],
            env=os.environ | self._process_environ(),
            cwd=self.home.airflow,
            capture_output=True,
            text=True,
            timeout=DATABASE_SECONDS,
            check=False,
        )
        if done.returncode:
            raise LabError(
                f"Airflow's database refused `{arguments[0]}`: {done.stderr.strip()[-600:]}; "
                f"if {self.home.airflow} is damaged, remove it and run `up` again"
            )

    def _unhealthy(self, started: set[str], began: datetime) -> list[str]:
        """The processes that do not say that they are healthy, or said so last before this call started them."""
        health = _get_json(f"http://{LOOPBACK}:{self.settings.ports.airflow}/api/v2/monitor/health")
        if health is None:
            return [API_SERVER]
        parts = {SCHEDULER: "scheduler", DAG_PROCESSOR: "dag_processor", TRIGGERER: "triggerer"}
        unhealthy = []
        for name, part in parts.items():
            heard = health.get(part, {}).get(f"latest_{part}_heartbeat")
            fresh = heard is not None and datetime.fromisoformat(heard) >= began
            if health.get(part, {}).get("status") != "healthy" or (name in started and not fresh):
                unhealthy.append(name)
        return unhealthy


def _keep(database: Path, kept: Path) -> None:
    draft = kept.with_name(f".{kept.name}.{os.getpid()}")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(draft)) as copy:
        source.backup(copy)
    draft.replace(kept)


def _get_json(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=3) as reply:  # noqa: S310 - our own loopback address
            answer = json.loads(reply.read())
    except (urllib.error.URLError, OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None
