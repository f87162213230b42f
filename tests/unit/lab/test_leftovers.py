"""A test run that is interrupted leaves no process, even if its workers had no time to stop what they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab import leftovers
from lab.layout import Home
from lab.processes import Command, Supervisor

SECONDS = 120.0
#: A run whose workers start a process each, in a session of its own, and do not stop it in the seconds that they have.
HOOKS = """
from xdist.workermanage import NodeManager
from support.run_end import pytest_configure, pytest_unconfigure
NodeManager.EXIT_TIMEOUT = 1
"""
TESTS = """
import pathlib, subprocess, sys, time, pytest

@pytest.fixture
def started(worker_id):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
    (pathlib.Path(__file__).parent / f"{worker_id}.pid").write_text(str(child.pid))
    yield
    time.sleep(300)

@pytest.mark.parametrize("number", [1, 2])
def test_that_hangs(started, number):
    time.sleep(300)
"""
#: A run whose workers start processes of a lab, one of which hides its environment, as Airflow's do.
LABS = """
import pathlib, time
from lab.api import Lab
from lab.processes import Command

def test_that_hangs(tmp_path):
    supervisor = Lab(tmp_path / "lab").supervisor
    for name, argv in (("seen", ("sleep", "300")), ("hidden", ("env", "-i", "sleep", "300"))):
        process = supervisor.start(Command(name, argv, tmp_path))
        (pathlib.Path(__file__).parent / f"{name}.pid").write_text(str(process.pid))
    time.sleep(300)
"""
#: A run that ends well, whose own process has reached storage.
REACHES_STORAGE = """
from kafka_dr.storage.deadline_path import with_deadline

def test_that_looks(tmp_path):
    assert with_deadline(tmp_path).is_dir()
"""
#: A run that ends well, and has killed and started again a process of a lab that it did not start.
STARTS_AGAIN = """
import os, pathlib
from lab.api import Lab

def test_that_kills():
    Lab(pathlib.Path(os.environ["KAFKA_DR_TEST_LAB"])).restart("broker")
"""
#: ``test`` of the lab's command line, with the arguments of pytest.
GATE = """
import pathlib, sys
from lab import cli, gate
gate.PROJECT = pathlib.Path(sys.argv[1])
raise SystemExit(cli.main(["test", *sys.argv[2:]]))
"""


@pytest.fixture
def hiding(project: Path) -> Path:
    (project / "test_hangs.py").write_text(LABS)
    return project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "conftest.py").write_text(HOOKS)
    (folder / "test_hangs.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.mark.parametrize(
    ("who", "how"),
    [
        pytest.param("gate", signal.SIGTERM, marks=pytest.mark.long),
        ("gate", signal.SIGKILL),
        pytest.param("pytest", signal.SIGKILL, marks=pytest.mark.long),
    ],
)
def test_a_whole_run_leaves_no_process_whichever_of_its_processes_is_ended(
    hiding: Path, who: str, how: signal.Signals
) -> None:
    gate = subprocess.Popen(
        [sys.executable, "-c", GATE, str(hiding), "-q", "-n", "1", "-p", "no:cacheprovider", str(hiding)],
        cwd=hiding,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        start_new_session=True,
    )
    try:
        started = wait_for([hiding / f"{kind}.pid" for kind in ("seen", "hidden")])
        (tests,) = psutil.Process(gate.pid).children()
        ended = [*started, tests, *tests.children(recursive=True)]
        assert len(ended) >= 4

        os.kill({"gate": gate.pid, "pytest": tests.pid}[who], how)

        assert gate.wait(SECONDS) != 0
        _, left = psutil.wait_procs(ended, timeout=SECONDS)
        assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
    finally:
        gate.kill()
        gate.wait()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Supervisor]:
    """A process of a lab whose environment does not show who started it, as Airflow's do not."""
    supervisor = Supervisor(Home(tmp_path / "worker" / "lab"))
    supervisor.start(Command("hidden", ("env", "-i", "sleep", "300"), tmp_path))
    yield supervisor
    supervisor.stop("hidden")


def wait_for(paths: list[Path]) -> list[psutil.Process]:
    deadline = time.monotonic() + SECONDS
    while not all(path.exists() and path.read_text() for path in paths):
        assert time.monotonic() < deadline, "the workers did not start their processes"
        time.sleep(0.05)
    return [psutil.Process(int(path.read_text())) for path in paths]


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interrupted_run_leaves_no_process(project: Path, how: signal.Signals) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(project)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    started = wait_for([project / f"gw{number}.pid" for number in (0, 1)])

    run.send_signal(how)
    said = run.communicate(timeout=SECONDS)[0]

    assert run.returncode != 0, said
    assert [each for each in started if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert "that the run had left were killed" in said
    assert "import time; time.sleep(300)" in said.partition("had left were killed")[2], "it does not say which"


def test_a_run_that_reaches_storage_has_left_nothing(project: Path) -> None:
    (project / "test_hangs.py").write_text(REACHES_STORAGE)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project)],
        cwd=project, env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "had left" not in run.stderr, run.stderr


def test_a_process_of_a_lab_that_was_there_before_lives_on_although_a_test_started_it_again(
    project: Path, tmp_path: Path
) -> None:
    home = Home(tmp_path / "elsewhere")
    supervisor = Supervisor(home)
    before = supervisor.start(Command("broker", ("sleep", "300"), tmp_path))
    (project / "test_hangs.py").write_text(STARTS_AGAIN)
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project)],
            cwd=project,
            env={**os.environ, "PYTHONPATH": ":".join(sys.path), "KAFKA_DR_TEST_LAB": str(home.root)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout
        now = supervisor.find("broker")
        assert now is not None, run.stderr
        assert now.pid != before.pid
        assert "had left" not in run.stderr, run.stderr
    finally:
        supervisor.stop("broker")


def test_a_process_that_hides_its_environment_is_found_by_the_record_of_its_lab(
    lab: Supervisor, tmp_path: Path
) -> None:
    hidden = lab.find("hidden")
    assert hidden is not None
    assert len(leftovers.end_leftovers(leftovers.new_run(), tmp_path)) == 1
    assert lab.find("hidden") is None


def test_a_run_ends_what_runs_inside_it_started_and_nothing_of_others(tmp_path: Path) -> None:
    outer = leftovers.new_run({})
    inner, other = leftovers.new_run({leftovers.RUN: outer}), leftovers.new_run({})
    sleeping = {
        run: subprocess.Popen(["sleep", "300"], env={**os.environ, leftovers.RUN: run})  # noqa: S607
        for run in (outer, inner, other)
    }
    try:
        assert leftovers.end_leftovers(inner, tmp_path) == ["sleep 300"]
        assert (sleeping[inner].wait(60), sleeping[outer].poll()) == (-signal.SIGKILL, None)
        assert leftovers.end_leftovers(outer, tmp_path) == ["sleep 300"]
        assert (sleeping[outer].wait(60), sleeping[other].poll()) == (-signal.SIGKILL, None)
    finally:
        for process in sleeping.values():
            process.kill()
            process.wait()


def test_what_ends_by_itself_a_moment_after_the_run_is_not_counted_and_not_killed() -> None:
    name = leftovers.new_run()
    ending = subprocess.Popen(
        [sys.executable, "-c", "import time; print('began', flush=True); time.sleep(0.5)"],
        env=os.environ | {leftovers.RUN: name},
        stdout=subprocess.PIPE,
    )
    with ending:
        assert ending.stdout is not None
        ending.stdout.readline()
        assert leftovers.end_leftovers(name) == []
        assert ending.wait(SECONDS) == 0
