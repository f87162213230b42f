"""Airflow's four processes, each by itself, so that each can be killed and started again by itself."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab import airflow_home
from lab.airflow_readiness import ReadinessApi
from lab.bootstrap import REQUIREMENTS, pins_digest
from lab.context import LabContext
from lab.errors import LabError
from lab.layout import LOOPBACK, PROJECT
from lab.processes import MARK, Supervisor, inherited
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
LAUNCHER = "airflow-launch"  # lives for a few seconds only
LAUNCH_SECONDS = 300.0
READY_SECONDS = 300.0
GRACE_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Airflow:
    """Airflow as one part of an ``up``.

    :param environ: what DAGs read from the environment; no secrets.
    """

    context: LabContext
    environ: Mapping[str, str]
    dags: Path = airflow_home.DAGS

    @property
    def url(self) -> str:
        """Where the user interface and the API answer."""
        return f"http://{LOOPBACK}:{self.context.settings.ports.airflow}"

    def ports(self) -> list[tuple[int, str]]:
        """The port of the user interface and API."""
        return [(self.context.settings.ports.airflow, API_SERVER)]

    def start(self, startup: Startup) -> None:
        """Start what does not run and wait until all four say that they are healthy.

        :raises LabError: one of them did not become healthy.
        """
        began = datetime.now(UTC)
        airflow_home.write(self.context, dags=self.dags)
        claimed = [name for name in PROCESSES if startup.claim(name)]
        self._launch(claimed)
        started = frozenset(name.removeprefix("airflow-").replace("-", "_") for name in claimed)
        rest = ReadinessApi(url=self.url, password=self.context.credentials.airflow("admin"))
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

    def _launch(self, names: list[str]) -> None:
        """Have one Airflow bring its database and connections up to date and fork these processes."""
        folder, connections = self.context.home.airflow, airflow_home.connections_file(self.context.home)
        done = folder / "database.json"
        if not (folder / "airflow.db").exists():
            for outdated in (done, *folder.glob("airflow.db-*")):
                outdated.unlink(missing_ok=True)
        was = json.loads(done.read_text()) if done.exists() else {}
        now = {"pins": pins_digest(REQUIREMENTS.read_text()), "connections": _sha256(connections)}
        if not names and was == now:
            return
        self._run_launcher(
            {
                "home": str(self.context.home.root),
                "migrate": was.get("pins") != now["pins"],
                "connections": str(connections) if was.get("connections") != now["connections"] else None,
                "processes": [self._process(name) for name in names],
            }
        )
        done.write_text(json.dumps(now))

    def _process(self, name: str) -> dict[str, object]:
        arguments = PROCESSES[name]
        return {
            "name": name,
            "arguments": arguments,
            "argv": (sys.executable, "-m", "airflow", *arguments),  # how `restart` starts it
            "folder": str(self.context.home.airflow),
            "environ": self._environ(),
            "grace_seconds": GRACE_SECONDS,
        }

    def _run_launcher(self, plan: dict[str, object]) -> None:
        supervisor = Supervisor(self.context.home)
        with supervisor.fresh_log(LAUNCHER).open("ab") as log, suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                [sys.executable, "-m", "lab.airflow_launch"],
                input=json.dumps(plan).encode(),
                env=inherited() | self._environ() | {MARK: supervisor.mark(LAUNCHER)},
                cwd=self.context.home.airflow,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=LAUNCH_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return
        raise LabError(
            f"Airflow could not be launched; the end of its log:\n{supervisor.last_lines(LAUNCHER)}\n"
            f"if its database is damaged, remove {self.context.home.airflow} and run `up` again"
        )

    def _environ(self) -> dict[str, str]:
        commands = str(Path(sys.executable).parent)
        return {
            **self.environ,
            "AIRFLOW_HOME": str(self.context.home.airflow),
            "PYTHONPATH": os.pathsep.join(filter(None, (self.environ.get("PYTHONPATH"), str(PROJECT / "include")))),
            "PATH": os.pathsep.join((commands, os.environ.get("PATH", os.defpath))),
            "SPT_NOENV": "1",  # a process that changes its title keeps its environment, and with it the lab's mark
        }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
