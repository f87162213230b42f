"""The roles that ``init`` proposes may do in Airflow's real FAB auth manager what they have to, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.installed_apart import fab_environ

pytestmark = pytest.mark.airflow
_PROJECT = Path(__file__).resolve().parents[2]
_SCRIPT = _PROJECT / "include" / "kafka_dr" / "set_up" / "templates" / "fab-roles.sh"


def test_each_role_may_do_what_it_has_to_and_no_more(tmp_path: Path) -> None:
    settings = fab_environ(tmp_path)

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], env=settings, capture_output=True, text=True, timeout=400, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "airflow", "db", "migrate")
    may = json.loads(run("-m", "support.fab_roles", str(_SCRIPT)).splitlines()[-1])
    assert {role: may[role] for role in may if role.startswith("kafka-dr-") or role == "Viewer"} == {
        "Viewer": ["see questions", "see runs", "see the pool"],
        "kafka-dr-requester": ["begin runs"],
        "kafka-dr-approver": ["answer questions", "see questions"],
        "kafka-dr-bot": ["see questions", "see runs", "see the pool", "write notes"],
    }
