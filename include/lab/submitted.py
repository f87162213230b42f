"""Jobs of Spark that the lab submits, as a person does by hand."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from lab.errors import LabError

#: How long a job may take.
SECONDS = 1_800.0


def spark_submit() -> Path:
    """Return the path of Spark's command."""
    import pyspark

    return Path(pyspark.__file__).parent / "bin" / "spark-submit"


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
            raise LabError(f"{Path(argv[1]).name} did not end within {seconds:g} s") from error
        raise
    if process.returncode not in expected:
        raise LabError(f"{Path(argv[1]).name} ended with {process.returncode}: {complaint(said, complained)}")


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
