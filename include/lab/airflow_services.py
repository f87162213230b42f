"""Airflow's four processes, each by itself, so that each can be killed and started again by itself."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab import airflow_home
from lab.airflow_readiness import Rest
from lab.errors import LabError
from lab.layout import LOOPBACK, PROJECT
from lab.premises import Premises
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

    premises: Premises
    environ: Mapping[str, str]
    cache: Path
    dags: Path = airflow_home.DAGS

    @property
    def url(self) -> str:
        """Where the user interface and the API answer."""
        return f"http://{LOOPBACK}:{self.premises.settings.ports.airflow}"

    def ports(self) -> list[tuple[int, str]]:
        """The port of the user interface and API."""
        return [(self.premises.settings.ports.airflow, API_SERVER)]

    def start(self, startup: Startup) -> None:
        """Start what does not run and wait until all four say that they are healthy.

        :raises LabError: one of them did not become healthy.
        """
        began = datetime.now(UTC)
        airflow_home.write(self.premises, dags=self.dags)
        self._ensure_database()
        started = frozenset(
            name.removeprefix("airflow-").replace("-", "_")
            for name, arguments in PROCESSES.items()
            if startup.start(self._command(name, arguments))
        )
        self._ensure_connections()
        rest = Rest(url=self.url, password=self.premises.credentials.airflow("admin"))
        waits = {
            "a healthy word from all parts of Airflow": lambda: rest.is_healthy(since=began, started=started),
            "an answer of the API for tasks": rest.is_warm,
            "a look at every DAG file": lambda: not rest.unread(self.dags),
        }
        for expected, ready in waits.items():
            startup.wait(list(PROCESSES), ready, seconds=READY_SECONDS, expected=expected)
        startup.report("Airflow", startup.seconds())
        for error in rest.import_errors():
            startup.report(f"a DAG file cannot be read: {error}", startup.seconds())

    def _command(self, name: str, arguments: tuple[str, ...]) -> Command:
        return Command(
            name=name,
            argv=(sys.executable, "-m", "airflow", *arguments),
            folder=self.premises.home.airflow,
            environ=self._process_environ(),
            grace_seconds=8.0,
        )

    def _process_environ(self) -> dict[str, str]:
        commands = str(Path(sys.executable).parent)
        return {
            **self.environ,
            "AIRFLOW_HOME": str(self.premises.home.airflow),
            "PYTHONPATH": str(PROJECT / "include"),
            "PATH": os.pathsep.join((commands, os.environ.get("PATH", os.defpath))),
        }

    def _ensure_database(self) -> None:
        """Have a database of this version; a migrated empty one comes from the cache if one was kept there."""
        database, stamp = self.premises.home.airflow / "airflow.db", self.premises.home.airflow / "database.stamp"
        pins = hashlib.sha256((PROJECT / "requirements.txt").read_bytes()).hexdigest()
        if database.exists() and stamp.exists() and stamp.read_text() == pins:
            return
        kept = self.cache / f"airflow-{pins[:16]}.sqlite"
        if database.exists():
            self._run("migrate")
        else:
            self._connections_stamp.unlink(missing_ok=True)
            for rest in self.premises.home.airflow.glob("airflow.db-*"):
                rest.unlink()
            if kept.exists():
                shutil.copyfile(kept, database)
            else:
                self._run("migrate")
                _keep(database, kept)
        stamp.write_text(pins)

    def _ensure_connections(self) -> None:
        wanted = hashlib.sha256(airflow_home.connections_file(self.premises.home).read_bytes()).hexdigest()
        if not self._connections_stamp.exists() or self._connections_stamp.read_text() != wanted:
            self._run("connections", str(airflow_home.connections_file(self.premises.home)))
            self._connections_stamp.write_text(wanted)

    @property
    def _connections_stamp(self) -> Path:
        return self.premises.home.airflow / "connections.stamp"

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "lab.airflow_database", *arguments],
            env=os.environ | self._process_environ(),
            cwd=self.premises.home.airflow,
            capture_output=True,
            text=True,
            timeout=DATABASE_SECONDS,
            check=False,
        )
        if done.returncode:
            raise LabError(
                f"Airflow's database refused `{arguments[0]}`: {done.stderr.strip()[-600:]}; "
                f"if {self.premises.home.airflow} is damaged, remove it and run `up` again"
            )


def _keep(database: Path, kept: Path) -> None:
    draft = kept.with_name(f".{kept.name}.{os.getpid()}")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(draft)) as copy:
        source.backup(copy)
    draft.replace(kept)
