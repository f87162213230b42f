from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lab.errors import LabError, NotReady
from lab.layout import Home
from lab.processes import MARK, Command, Supervisor

SECONDS = 20.0


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor(Home(tmp_path))
    yield supervisor
    for name in supervisor.names():
        supervisor.stop(name)
    supervisor.sweep()


def _command(folder: Path, script: str, *, name: str = "sleeper", grace_seconds: float = 5.0) -> Command:
    return Command(name=name, argv=("/bin/sh", "-c", script), folder=folder, grace_seconds=grace_seconds)


def _eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)


def _lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _child_pid(supervisor: Supervisor, name: str = "sleeper") -> int:
    _eventually(lambda: supervisor.log(name).read_text().strip())
    return int(supervisor.log(name).read_text().split()[0])


def test_a_process_outlives_the_supervisor_that_started_it_and_is_found_by_another(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    process = supervisor.start(_command(tmp_path, "sleep 60"))
    found = Supervisor(Home(tmp_path)).find("sleeper")
    assert found is not None
    assert found.pid == process.pid


def test_a_process_is_not_mistaken_for_another_one_that_got_its_number(supervisor: Supervisor, tmp_path: Path) -> None:
    process = supervisor.start(_command(tmp_path, "sleep 60"))
    record = tmp_path / "run" / "sleeper.json"
    record.write_text(record.read_text().replace(f'"pid": {process.pid}', f'"pid": {os.getpid()}'))
    assert supervisor.find("sleeper") is None

    supervisor.stop("sleeper")
    assert psutil.pid_exists(os.getpid())


def test_stopping_ends_children_too_also_those_that_ignore_a_polite_request(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(_command(tmp_path, "(trap '' TERM; sleep 60) & echo $!; wait"))
    child = psutil.Process(_child_pid(supervisor))
    supervisor.stop("sleeper")
    _eventually(lambda: not _lives(child))
    assert supervisor.names() == ()


def test_a_process_that_refuses_to_end_is_killed_after_its_grace(supervisor: Supervisor, tmp_path: Path) -> None:
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    supervisor.start(Command(name="stubborn", argv=(sys.executable, "-c", script), folder=tmp_path, grace_seconds=0.2))
    _eventually(lambda: supervisor.log("stubborn").read_text())
    supervisor.stop("stubborn")
    assert supervisor.find("stubborn") is None


def test_a_killed_process_still_counts_as_started_and_starts_again_as_it_was(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    before = supervisor.start(
        Command(name="env", argv=("/bin/sh", "-c", "echo $WORD; sleep 60"), folder=tmp_path, environ={"WORD": "kept"})
    )
    supervisor.kill("env")
    assert supervisor.find("env") is None
    assert supervisor.names() == ("env",)

    after = supervisor.restart("env")
    _eventually(lambda: supervisor.log("env").read_text() == "kept\n")
    assert after.pid != before.pid


def test_what_a_dead_parent_left_is_swept_even_when_it_hides_its_environment(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    parent = supervisor.start(_command(tmp_path, f"env -u {MARK} sleep 60 & echo $!; wait"))
    child = psutil.Process(_child_pid(supervisor))
    os.kill(parent.pid, signal.SIGKILL)
    _eventually(lambda: supervisor.find("sleeper") is None)
    assert _lives(child)

    supervisor.sweep()

    _eventually(lambda: not _lives(child))


def test_what_an_interrupted_command_started_without_a_record_is_swept_and_what_runs_is_left(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    running = supervisor.start(_command(tmp_path, "sleep 60"))
    unrecorded = subprocess.Popen(["/bin/sleep", "60"], env={MARK: supervisor.mark("lost")}, start_new_session=True)
    assert [process.pid for process in supervisor.strays()] == [unrecorded.pid]

    supervisor.sweep()

    assert unrecorded.wait(SECONDS) == -signal.SIGKILL
    assert _lives(running)
    assert supervisor.strays() == []


def test_processes_of_another_lab_are_never_touched(supervisor: Supervisor, tmp_path: Path) -> None:
    other = Supervisor(Home(tmp_path.with_name(tmp_path.name + "-other")))
    process = other.start(_command(tmp_path, "sleep 60"))
    try:
        supervisor.sweep()
        assert _lives(process)
    finally:
        other.stop("sleeper")


def test_a_paused_process_still_ends_politely(supervisor: Supervisor, tmp_path: Path) -> None:
    process = supervisor.start(_command(tmp_path, "trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.05; done"))
    _eventually(lambda: supervisor.log("sleeper").read_text())
    supervisor.pause("sleeper")
    assert process.status() == psutil.STATUS_STOPPED
    supervisor.stop("sleeper")
    assert supervisor.log("sleeper").read_text() == "up\nbye\n"


def test_a_pause_is_over_only_when_the_process_has_noticed_it(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = supervisor.start(_command(tmp_path, "while :; do sleep 0.05; done"))
    send = Supervisor.signal

    def noticed_late(self: Supervisor, name: str, number: signal.Signals) -> None:
        threading.Timer(0.5, send, [self, name, number]).start()

    monkeypatch.setattr(Supervisor, "signal", noticed_late)
    supervisor.pause("sleeper")
    assert process.status() == psutil.STATUS_STOPPED


def test_a_process_that_ends_while_it_is_waited_for_is_reported_with_the_end_of_its_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(_command(tmp_path, "echo no such file; exit 3"))
    with pytest.raises(NotReady, match=r"(?s)sleeper ended while it was starting.*no such file"):
        supervisor.wait(["sleeper"], lambda: False, seconds=SECONDS, expected="an answer")


def test_a_deadline_that_passes_says_what_did_not_come(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(_command(tmp_path, "sleep 60"))
    with pytest.raises(NotReady, match="sleeper: running, but an answer did not come within 0 s"):
        supervisor.wait(["sleeper"], lambda: False, seconds=0.1, expected="an answer")


def test_the_log_of_the_run_before_stays(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(_command(tmp_path, "echo first; sleep 60"))
    _eventually(lambda: supervisor.log("sleeper").read_text() == "first\n")
    supervisor.stop("sleeper")
    supervisor.start(_command(tmp_path, "echo second; sleep 60"))
    assert (tmp_path / "logs" / "sleeper.log.1").read_text() == "first\n"


def test_settings_of_another_java_or_airflow_do_not_reach_the_lab(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dstrange=1")
    monkeypatch.setenv("AIRFLOW__CORE__PARALLELISM", "1")
    supervisor.start(_command(tmp_path, "env; echo end; sleep 60"))
    _eventually(lambda: "end" in supervisor.log("sleeper").read_text().split())
    printed = supervisor.log("sleeper").read_text()
    assert "JAVA_TOOL_OPTIONS" not in printed
    assert "AIRFLOW__" not in printed


def test_what_was_never_started_cannot_be_restarted_or_paused(supervisor: Supervisor) -> None:
    with pytest.raises(LabError, match="nobody was never started"):
        supervisor.restart("nobody")
    with pytest.raises(LabError, match="nobody does not run"):
        supervisor.signal("nobody", signal.SIGSTOP)
