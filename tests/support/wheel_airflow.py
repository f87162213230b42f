"""An Airflow of a Python that has the wheel, whose programs are started by their paths, as services are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from lab import airflow_home
from support.airflow_lab import AirflowSession, QuickLab
from support.wheel import WheelPython

_PROCESSES = ("api-server", "scheduler", "dag-processor")
_SECONDS = 600.0
#: What a service has on its path, whatever Python it runs.
_PATH = "/usr/bin:/bin"
_USER, _PASSWORD = "admin", "of-the-wheel"


class WheelAirflow(AirflowSession):
    """What an administrator of that Airflow sees and does.

    :param logs: of its processes
    """

    def __init__(self, url: str, logs: Path) -> None:
        self._logs = logs
        self.http = httpx.Client(base_url=url, timeout=60)

    def log_in(self) -> None:
        """Log in as soon as it answers, and wait until it knows the DAGs."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                body = {"username": _USER, "password": _PASSWORD}
                self.token = self.http.post("/auth/token", json=body).raise_for_status().json()["access_token"]
                self.http.headers["Authorization"] = f"Bearer {self.token}"
                self.http.get("/api/v2/dags/dr_checksum_audit").raise_for_status()
                return
            except httpx.HTTPError:
                assert time.monotonic() < deadline, self._scheduler()
                time.sleep(1)

    def _scheduler(self) -> str:
        return "\n".join(path.read_text("utf-8", "replace")[-2000:] for path in sorted(self._logs.glob("*.log")))


@contextmanager
def wheel_airflow(python: WheelPython, lab: QuickLab, port: int) -> Iterator[WheelAirflow]:
    """Run it against a lab's clusters, with the lab's connections; DAGs run when they are triggered.

    :param port: of its user interface and API
    """
    home, url = python.folder, f"http://127.0.0.1:{port}"
    passwords, connections = home / "passwords.json", home / "connections.json"
    passwords.write_text(json.dumps({_USER: _PASSWORD}))
    stored = json.loads(airflow_home.connections_file(lab.home).read_text())
    del stored[airflow_home.AIRFLOW_API]
    connections.write_text(json.dumps(stored))
    of_spark = {name: value for name, value in lab.spark_environ().items() if not name.startswith("PY")}
    environ = {
        **python.environ,
        **of_spark,
        "PATH": _PATH,
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{_USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__API__SECRET_KEY": "of the tests alone",
        "AIRFLOW__API_AUTH__JWT_SECRET": "of the tests alone" * 4,
    }
    for command in (("db", "migrate"), ("connections", "import", str(connections))):
        python.run("airflow", *command, **environ)
    with ExitStack() as stack:
        for name in _PROCESSES:
            more = ("--port", str(port)) if name == "api-server" else ()
            log = stack.enter_context((home / f"{name}.log").open("wb"))
            process = subprocess.Popen(
                [home / "python" / "bin" / "airflow", name, *more],
                cwd=home, env=environ, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            stack.callback(_end, process)
        session = WheelAirflow(url, home)
        stack.callback(session.http.close)
        session.log_in()
        yield session


def _end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=20)
