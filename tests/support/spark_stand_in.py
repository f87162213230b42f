"""A machine on which Spark can be asked for jobs: connections, and a ``spark-submit`` that only writes down its part.

It ends as the environment says: ``SAYS`` is printed, ``ENDS`` is the exit code, ``REPORT`` is written below ``--out``.
An application of many audits ends each as ``GIVEN`` says. ``HANGS`` is how many seconds it waits for a process that it
starts, as spark-submit does for the driver.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from airflow.models.connection import Connection

from kafka_dr_airflow.operators.spark_job import SPARK_CONNECTION

PASSWORD = "a-password-that-nobody-may-see"
_SUBMIT = """#!{python}
import json, os, pathlib, stat, subprocess, sys
driver = subprocess.Popen(["sleep", os.environ["HANGS"]]) if os.environ.get("HANGS") else None
secrets = pathlib.Path(os.environ["KAFKA_DR_SECRETS_FILE"])
pathlib.Path(os.environ["SEEN"]).write_text(json.dumps({{
    "argv": sys.argv[1:], "environ": dict(os.environ), "secrets": str(secrets),
    "driver": driver and driver.pid, "niceness": os.getpriority(os.PRIO_PROCESS, 0),
    "mode": stat.S_IMODE(secrets.stat().st_mode), "content": secrets.read_text(),
}}))
if "--requests" in sys.argv:
    # Of each audit: its exit code, what it said, and its report. One that is left out has no result.
    given = json.loads(os.environ["GIVEN"])
    asked = json.loads(pathlib.Path(sys.argv[sys.argv.index("--requests") + 1]).read_text())
    pathlib.Path(os.environ["SEEN"] + ".requests").write_text(json.dumps(asked))
    for each in asked["requests"]:
        if each["audit"] in given:
            code, said, report = given[each["audit"]]
            out = pathlib.Path(each["arguments"][each["arguments"].index("--out") + 1])
            out.mkdir(parents=True)
            report and (out / "report.json").write_text(json.dumps(report))
            pathlib.Path(each["ended"]).write_text(json.dumps({{"code": code, "said": said, "seconds": 1.0}}))
elif os.environ.get("REPORT"):
    out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
    out.mkdir(parents=True)
    (out / "report.json").write_text(os.environ["REPORT"])
print(os.environ["SAYS"], flush=True)
driver and driver.wait()
sys.exit(int(os.environ["ENDS"]))
"""


def stand_in(
    folder: Path, environ: Mapping[str, str], patch: pytest.MonkeyPatch, *, connect: Sequence[Connection]
) -> None:
    """Make this process such a machine; what was submitted is in ``seen.json``.

    :param environ: how the topology is found
    :param connect: how Connect is reached; where it is not known, a job that needs it fails
    """
    commands = folder / "bin"
    commands.mkdir()
    submit = commands / "spark-submit"
    submit.write_text(_SUBMIT.format(python=sys.executable))
    submit.chmod(0o755)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "audit"}
    login |= {"bootstrap.servers": "127.0.0.1:1", "sasl.password": PASSWORD}
    connections = [
        *(Connection(conn_id=f"kafka_{c}_audit", conn_type="kafka", extra=json.dumps(login)) for c in ("east", "west")),
        *connect,
        Connection(conn_id=SPARK_CONNECTION, conn_type="spark", host="local[1]"),
    ]
    settings = {f"AIRFLOW_CONN_{each.conn_id.upper()}": each.as_json() for each in connections}
    settings |= {**environ, "KAFKA_DR_LAB_HOME": str(folder / "lab"), "SEEN": str(folder / "seen.json")}
    settings |= {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(folder)}
    for name, value in settings.items():
        patch.setenv(name, value)
    patch.setattr("tempfile.tempdir", None)
