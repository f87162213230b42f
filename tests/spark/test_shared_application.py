"""Many audits in one real Spark application: their own sessions, their own deadlines, one JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.shared.requests import AuditEnded, AuditRequest, SharedRequests
from lab.api import Lab
from support import shared_spark_work

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.long
def test_audits_share_a_jvm_and_one_that_never_ends_leaves_its_cores_to_the_others(tmp_path: Path) -> None:
    names = ("endless", "first", "wrong", "second")
    # Long enough for Spark to compute something on a busy machine.
    requests = tuple(
        AuditRequest("checksum", name, 10.0 if name == "endless" else 700.0, tmp_path / name) for name in names
    )
    SharedRequests(1, requests).write(tmp_path / "requests.json")
    argv = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local[2]", shared_spark_work.__file__]
    argv += ["--topology", "none.yaml", "--requests", str(tmp_path / "requests.json")]
    environ = os.environ | Lab(tmp_path / "lab").spark_environ()
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    ended = {name: AuditEnded.read(tmp_path / name) for name in names}
    assert {name: each and each.code for name, each in ended.items()} == {
        "endless": 2,
        "first": 0,
        "wrong": 2,
        "second": 0,
    }
    said = {name: each.said for name, each in ended.items() if each is not None}
    assert "no result within 10 s" in said["endless"]
    assert "nowhere" in said["wrong"]
    assert said["first"] == said["second"], "both in the same application"
    assert said["first"].startswith("equal: 1002 in local-")
