"""Spark, tried with a job of a second: audits need it, with its Kafka source on the class path."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from kafka_dr.causes import cause
from kafka_dr.doctor.finding import SetUpFinding
from kafka_dr.quoting import line

_CORE = Path(__file__).resolve().parents[1]
#: The project's folder, or the one that a wheel has instead.
_PLACES = (_CORE.parents[1], _CORE.parent / "kafka_dr_airflow" / "project")
JOB = next((path for path in (each / "spark" / "jobs" / "set_up_trial.py" for each in _PLACES) if path.is_file()), None)
#: To start a session takes most of it, on a machine that does something else.
_SECONDS = 120.0
#: How the line begins in which a job says what it could not find out.
_UNKNOWN = "unknown: "


def examine_spark() -> Iterator[SetUpFinding]:
    """Submit the job with the Spark of this machine."""
    if JOB is None:
        said = "spark/jobs/set_up_trial.py of this project is not on this machine, so it is not known whether audits"
        yield SetUpFinding("spark", "trial", "unknown", f"{said} could run: install it, or say --without spark")
        return
    command = shlex.join(("spark-submit", str(JOB)))
    # pip puts it next to the Python that runs this, which need not be on the path.
    submit = shutil.which("spark-submit") or shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    if submit is None:
        said = "this machine has no spark-submit, so it is not known whether audits could run: run this where Spark is"
        yield SetUpFinding("spark", "trial", "unknown", f"{said}, or say --without spark", commands=(command,))
        return
    try:
        ended = subprocess.run([submit, str(JOB)], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        said = f"Spark's job did not run on this machine ({cause(error)})"
        yield SetUpFinding("spark", "trial", "unknown", f"{said}: run it by hand", commands=(command,))
        return
    if ended.returncode == 0:
        yield SetUpFinding("spark", "trial", "ok", line(ended.stdout.strip().splitlines()[-1]))
        return
    reasons = [each for each in ended.stderr.splitlines() if each.startswith(_UNKNOWN)]
    why = line(reasons[-1].removeprefix(_UNKNOWN)) if reasons else "run it by hand to see why"
    jars = "its Kafka source, spark-sql-kafka-0-10, has to be on the class path"
    yield SetUpFinding("spark", "trial", "failed", f"audits could not run here: {why}. {jars}", commands=(command,))
