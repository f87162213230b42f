"""An audit as a person submits it: a driver of its own, stopped half way, and everything that it shows to others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pyspark

from lab.layout import PROJECT
from support.auditing import job_environ, topology_file
from support.protection import Protection

_SECONDS = 120.0
_PAGES = ("environment", "sql?details=true&planDescription=true", "jobs", "stages?details=true", "executors")


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver that waits in the middle of its scan.

    :param events: where Spark's event log is written
    :param ui: where Spark's own pages are
    """

    process: subprocess.Popen[str]
    events: Path
    ui: str

    @property
    def processes(self) -> list[psutil.Process]:
        """Spark's process and the job's own; what Spark calls for a moment is left out."""
        family = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        return [each for each in family if _name(each).startswith(("java", "python"))]

    def shown(self) -> dict[str, str]:
        """Return what other people of the machine and of the cluster can see of it, by where they see it."""
        shown: dict[str, str] = {}
        for each in self.processes:
            shown[f"argv of {each.name()} {each.pid}"] = "\0".join(each.cmdline())
            shown[f"environ of {each.name()} {each.pid}"] = str(each.environ())
        with httpx.Client(base_url=self.ui, timeout=_SECONDS) as client:
            (application,) = client.get("/api/v1/applications").raise_for_status().json()
            for page in _PAGES:
                answer = client.get(f"/api/v1/applications/{application['id']}/{page}")
                shown[f"ui {page}"] = answer.raise_for_status().text
            for page in ("environment/", "SQL/", "SQL/execution/?id=0"):
                shown[f"page {page}"] = client.get(f"/{page}").raise_for_status().text
        logged = [file.read_text("utf-8") for file in self.events.rglob("events_*") if file.is_file()]
        return shown | {"events": "".join(logged)}


@contextmanager
def half_way(protection: Protection, out: Path, before: set[str], *, ui_port: int) -> Iterator[Driver]:
    """Submit an audit, stop it when it has begun to write, and kill it with all that it started afterwards.

    :param before: the scans that there were
    """
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    events = out.parent / f"{out.name}-events"
    events.mkdir()
    shown = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{events}",
    }
    job = PROJECT / "spark" / "jobs" / "checksum_audit.py"
    process = subprocess.Popen(
        [submit]
        + [part for name, value in shown.items() for part in ("--conf", f"{name}={value}")]
        + [job, "--topology", topology_file(protection), "--flow", f"{protection.name}.east-to-west", "--out", out],
        env=os.environ | protection.lab.spark_environ() | job_environ(protection) | {"PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        _wait_for_a_scan(protection, process, before)
        driver = Driver(process, events, f"http://127.0.0.1:{ui_port}")
        # Spark continues without the job's own process, and nothing else is done.
        driver.processes[-1].suspend()
        yield driver
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=_SECONDS)


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return "gone"


def _wait_for_a_scan(protection: Protection, process: subprocess.Popen[str], before: Collection[str]) -> None:
    folder = protection.folder / "evidence" / "fingerprints" / protection.name / "east-to-west"
    deadline = time.monotonic() + _SECONDS
    while {each.name for each in folder.iterdir()} == before:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
