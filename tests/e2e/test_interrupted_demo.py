"""A demo that is ended while its question waits on a terminal: it stops what it started, and the next one works."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.conftest import DEMO_SECONDS, Command

from lab.api import Lab
from lab.layout import PROJECT
from support.terminal import OwnTerminal

pytestmark = [pytest.mark.airflow, pytest.mark.long, pytest.mark.timeout(3 * DEMO_SECONDS)]

INTERRUPTED = 130
QUESTION = "Approve or Reject? (y/n)"
WAITED_FOR = "is waited for; interrupt again to leave it as it is"
LEFT = "which an earlier demo has left"


def be_impatient(demo: OwnTerminal) -> None:
    """Interrupt it, and again while it waits for its run, and again while the lab stops."""
    demo.press_control_c()
    demo.read(lambda text: WAITED_FOR in text)
    for _ in range(8):
        demo.press_control_c()
        demo.read(seconds=0.5)


@pytest.mark.parametrize("end", [OwnTerminal.end_it, OwnTerminal.close_the_window, be_impatient])
def test_it_leaves_no_process_and_no_question_and_the_next_one_works(
    tmp_path: Path, place: Lab, lab_command: Command, end: Callable[[OwnTerminal], None]
) -> None:
    where = ["--home", str(place.home.root), "--port-base", str(place.settings.port_base)]
    demo = OwnTerminal(
        [sys.executable, str(PROJECT / "include" / "lab"), "demo", "--warm-up", "2", *where], seconds=DEMO_SECONDS
    )
    demo.read(lambda text: QUESTION in text)
    end(demo)
    assert (demo.exit_code(), QUESTION in demo.text) == (INTERRUPTED, True), demo.text
    assert not place.status().in_use
    assert place.supervisor.strays() == []

    done = lab_command("demo", "--yes", "--report", str(tmp_path / "report.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    # Whoever does not wait for the run may leave it before it has noticed that it was rejected.
    assert LEFT not in " ".join(done.stdout.split()) or end is be_impatient, done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert {each["outcome"] for each in report["invariants"]} == {"held"}
