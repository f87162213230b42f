"""Spark, tried with a job of a second: audits need it, with its Kafka source on the class path."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator

from kafka_dr.causes import cause
from kafka_dr.doctor.finding import SetUpFinding
from kafka_dr.project import PROJECT
from kafka_dr.quoting import line
from kafka_dr.spark_submit import KAFKA_SOURCE, spark_submit_environ

JOB = PROJECT / "spark" / "jobs" / "set_up_trial.py"
#: To start a session takes most of it, on a machine that does something else.
_SECONDS = 120.0
#: How the line begins in which a job says what it could not find out.
_UNKNOWN = "unknown: "


def examine_spark() -> Iterator[SetUpFinding]:
    """Submit the job with the Spark of this machine."""
    if not JOB.is_file():
        said = "spark/jobs/set_up_trial.py of this project is not on this machine, so it is not known whether audits"
        yield SetUpFinding("spark", "trial", "unknown", f"{said} could run: install it, or say --without spark")
        return
    added = spark_submit_environ(os.environ)
    submit = shutil.which("spark-submit", path=added["PATH"])
    named = [f"{name}={value}" for name, value in added.items() if name != "PATH"]
    begun = ["env", *named, submit or "spark-submit"] if named else [submit or "spark-submit"]
    command = shlex.join([*begun, str(JOB)])
    if submit is None:
        said = "this machine has no spark-submit, so it is not known whether audits could run: run this where Spark is"
        yield SetUpFinding("spark", "trial", "unknown", f"{said}, or say --without spark", commands=(command,))
        return
    submitted, environ = [submit, str(JOB)], {**os.environ, **added}
    try:
        ended = subprocess.run(submitted, env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        said = f"Spark's job did not run on this machine ({cause(error)})"
        yield SetUpFinding("spark", "trial", "unknown", f"{said}: run it by hand", commands=(command,))
        return
    if ended.returncode == 0:
        yield SetUpFinding("spark", "trial", "ok", line(ended.stdout.strip().splitlines()[-1]))
        return
    reasons = [each for each in ended.stderr.splitlines() if each.startswith(_UNKNOWN)]
    why = line(reasons[-1].removeprefix(_UNKNOWN)) if reasons else "run it by hand to see why"
    jars = (
        f"Its Kafka source, spark-sql-kafka-0-10, has to be on the class path: spark.jars.packages {KAFKA_SOURCE} in "
        "the spark-defaults.conf of SPARK_CONF_DIR downloads it"
    )
    downloading = shlex.join([*begun, "--packages", KAFKA_SOURCE, str(JOB)])
    said = f"audits could not run here: {why}. {jars}"
    yield SetUpFinding("spark", "trial", "failed", said, commands=(command, downloading))
