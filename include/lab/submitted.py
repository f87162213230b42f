"""Jobs of Spark that the lab submits, as a person does by hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from lab import credentials
from lab.api import Lab
from lab.errors import LabError
from lab.layout import PROJECT
from lab.rights import AUDIT

#: How long a job may take.
SECONDS = 1_800.0


def spark_submit() -> Path:
    """Return the path of Spark's command."""
    import pyspark

    return Path(pyspark.__file__).parent / "bin" / "spark-submit"


def audit_environ(lab: Lab) -> dict[str, str]:
    """Return the environment in which an audit of the lab runs. It names a private file of connections."""
    entries = {f"kafka_{cluster.name}_audit": lab.client_settings(cluster.name, AUDIT) for cluster in lab.clusters}
    path = lab.home.root / "spark" / "connections.json"
    credentials.write_private(path, json.dumps(entries))
    return os.environ | lab.spark_environ() | {"KAFKA_DR_SECRETS_FILE": str(path)}


def audit_argv(
    lab: Lab, *arguments: str, job: str = "checksum_audit", topology: Path | None = None, conf: Mapping[str, str] = {}
) -> list[str]:
    """Return the command line of an audit.

    :param arguments: of the job, without the topology
    :param topology: by default the lab's own
    :param conf: settings of Spark for this application alone
    """
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    declared = str(topology or lab.environ["KAFKA_DR_TOPOLOGY"])
    script = str(PROJECT / "spark" / "jobs" / f"{job}.py")
    return [str(spark_submit()), *settings, script, "--topology", declared, *arguments]


def done(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    expected: Sequence[int],
    started: Callable[[int], None] | None = None,
    seconds: float = SECONDS,
) -> None:
    """Run a job to its end.

    :param expected: exit codes that are answers
    :param started: is given the id of its process
    :raises LabError: it ended with another code, or not in time
    """
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if started is not None:
        started(process.pid)
    try:
        said, complained = process.communicate(timeout=seconds)
    except BaseException as error:
        _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise LabError(f"{_job(argv)} did not end within {seconds:g} s") from error
        raise
    if process.returncode not in expected:
        raise LabError(f"{_job(argv)} ended with {process.returncode}: {complaint(said, complained)}")


def _job(argv: Sequence[str]) -> str:
    """Return the script of a job; its settings come before it. A job of Java has none."""
    return next((Path(part).name for part in argv if part.endswith(".py")), Path(argv[1]).name)


def spark_audit(lab: Lab, flow: str, *, topics: Sequence[str]) -> None:
    """Let the checksum audit match topics, as somebody would by hand.

    :param flow: as ``group.source-to-target``
    """
    out = str(lab.home.root / "spark" / "by-hand")
    argv = audit_argv(lab, "--flow", flow, "--out", out, "--topics", *topics)
    done(argv, audit_environ(lab), expected=(0,))


def complaint(said: str, complained: str) -> str:
    """Return the line that says best why a process failed.

    Spark lets what a job complains of come out with what it says, and Java follows it with where it was.
    """
    lines = [line for line in (*said.splitlines(), *complained.splitlines()) if line.strip()]
    telling = [line for line in lines if re.match(r"unknown: |[\w.]*(Error|Exception)\b", line)]
    return (telling or lines or ["no message"])[-1].strip()


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and what it has started."""
    with suppress(psutil.NoSuchProcess):
        for each in (*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)):
            with suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait(10)
