"""The demo of an observed flow as a newcomer calls it: real faults, and a report that finds each of them."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.conftest import DEMO_SECONDS, Command

from kafka_dr.clock import SystemClock
from kafka_dr.waiting import wait_until
from lab.api import Lab
from lab.layout import PROJECT
from lab.mirrormaker import NAME

pytestmark = [pytest.mark.long, pytest.mark.timeout(DEMO_SECONDS + 60)]

FAULTS = {"duplicated", "aborted", "lost", "corrupted", "foreign", "not_copied"}


def test_the_report_finds_each_fault_of_somebody_elses_replication_and_nothing_else(
    tmp_path: Path, place: Lab, lab_command: Command
) -> None:
    page = tmp_path / "report.html"
    done = lab_command("demo", "--observe", "--keep", "--report", str(page))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Each fault was found, nothing else was claimed, and nothing was written" in done.stdout

    home = place.home
    put_in = [json.loads(line) for line in (home.observed / "truth.jsonl").read_text().splitlines()]
    assert {each["fault"] for each in put_in if "fault" in each} == FAULTS
    assert any(each.get("skipped") for each in put_in)
    assert not home.connect("west").exists()
    assert not home.airflow.exists()
    for private in (home.mirrormaker / "mm2.properties", home.observed / "connections.json"):
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
    text = page.read_text("utf-8")
    assert "If you failed over from east to west now, by what you have, you would lose" in text
    assert "http" not in text.replace("http-equiv", "")

    again = lab_command("demo", "--observe")
    assert (again.returncode, "this demo needs a new one" in again.stderr) == (2, True)
    assert lab_command("down").returncode == 0
    assert not place.status().in_use


def test_an_interrupted_demo_leaves_no_process(place: Lab) -> None:
    where = ["--home", str(place.home.root), "--port-base", str(place.settings.port_base)]
    argv = [sys.executable, str(PROJECT / "include" / "lab"), "demo", "--observe", *where]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
        running = wait_until(
            lambda: place.supervisor.find(NAME),
            lambda found: found is not None or demo.poll() is not None,
            clock=SystemClock(),
            seconds=DEMO_SECONDS,
        )
        demo.send_signal(signal.SIGTERM)
        said = demo.communicate(timeout=DEMO_SECONDS)[1]

    assert running is not None, said
    assert (demo.returncode, "interrupted" in said) == (130, True)
    assert not running.is_running()
    assert place.supervisor.strays() == []
    assert not place.home.run.exists()
