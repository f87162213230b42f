"""The demo of a stretch cluster as a newcomer calls it: a site is killed, and what was predicted happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.conftest import DEMO_SECONDS, Command

from lab.api import Lab

pytestmark = [pytest.mark.long, pytest.mark.timeout(DEMO_SECONDS + 60)]


def test_what_was_predicted_happens_and_nothing_acknowledged_is_lost(
    tmp_path: Path, place: Lab, lab_command: Command
) -> None:
    report = tmp_path / "report.json"
    done = lab_command("demo", "--stretch", "--yes", "--report", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every prediction was right." in done.stdout

    found = json.loads(report.read_text())
    judged = found["judged"]
    assert {each["happened"] for each in judged} == {"continues", "refuses", "stops"}
    assert all((each["predicted"], each["predicted_leader"]) == (each["happened"], each["leader"]) for each in judged)
    assert sum(each["acknowledged"] for each in judged) > 1000
    assert {(each["lost"], each["doubled"]) for each in judged} == {(0, 0)}
    assert found["wrong"] == []
    assert place.supervisor.strays() == []
    assert not place.home.run.exists()
