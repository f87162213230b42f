"""Approvers by name and by role, as Airflow's real FAB auth manager knows them: with the ids that it gives people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.installed_apart import fab_environ

pytestmark = pytest.mark.airflow


def test_fab_knows_people_by_the_number_with_which_they_log_in(tmp_path: Path) -> None:
    settings = fab_environ(tmp_path)
    asked = (json.dumps(["alice", "carol", "nobody"]), json.dumps(["dr approvers", "no such role"]))
    done = subprocess.run(
        [sys.executable, "-m", "support.fab_people", *asked],
        env=settings, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["manager"] == "FabAuthManager"
    # Carol has the role and is not active; Dave has it through a group; Erin has it not.
    assert answer["found"] == [[name, str(answer["ids"][name])] for name in ("alice", "bob", "dave")]
    assert all(number.isdecimal() for _, number in answer["found"])
