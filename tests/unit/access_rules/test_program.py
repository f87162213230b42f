"""Programs that the topology declares: without a shell, without Airflow's secrets, and never waited for too long."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.declared_program import run_program, said_by
from kafka_dr.errors import OutcomeUnknown, Refused
from kafka_dr.waiting import wait_until


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *arguments)


def test_it_gets_its_arguments_as_they_are_and_its_input_and_says_how_it_ended(tmp_path: Path) -> None:
    code = "import sys, os; print(sys.argv[1], os.getcwd(), sys.stdin.read()); sys.exit(3)"
    answer = run_program(python(code, "$(id); *"), seconds=20, stdin=b"asked", folder=tmp_path)
    assert answer.code == 3
    assert answer.stdout.decode().split() == ["$(id);", "*", str(tmp_path), "asked"]


def test_it_does_not_get_what_airflow_keeps_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA", "secret")
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "secret")
    code = "import os; print(os.environ['ASKED'], any('secret' in each for each in os.environ.values()))"
    assert run_program(python(code), seconds=20, more={"ASKED": "yes"}).stdout.split() == [b"yes", b"False"]


def test_what_it_complains_of_is_shown_in_one_line() -> None:
    code = "import sys; print('fine'); sys.stderr.write('no\\x1b[31m\\nway' + 'x' * 500); sys.exit(1)"
    said = said_by(run_program(python(code), seconds=20))
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) <= 300
    assert said_by(run_program(python("import sys; sys.exit(1)"), seconds=20)) == "it wrote nothing"


def test_one_that_hangs_is_killed_with_everything_that_it_started(tmp_path: Path) -> None:
    # A shell has started its child long before the second is over, on a busy machine, too.
    program = ("/bin/sh", "-c", 'sleep 600 & echo $! > "$1"; sleep 600', "sh", str(tmp_path / "child"))
    with pytest.raises(OutcomeUnknown, match="did not end within 1 s and was killed"):
        run_program(program, seconds=1)
    # A process that is killed has ended only when it gets the processor again.
    wait_until(lambda: runs(tmp_path / "child"), lambda running: not running, clock=SystemClock(), seconds=10)
    assert not runs(tmp_path / "child")


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    """Where a program says which process it leaves; that one is ended."""
    said = tmp_path / "left"
    yield said
    with suppress(ProcessLookupError):
        os.kill(int(said.read_text()), signal.SIGKILL)


def leaving(said: Path, then: str) -> tuple[str, ...]:
    """Return a program that leaves a process in a session of its own, which holds what the program writes to."""
    return "/bin/sh", "-c", f'setsid sleep 60 & echo $! > "$1"; {then}', "sh", str(said)


def runs(said: Path) -> bool:
    state = Path(f"/proc/{int(said.read_text())}/stat")
    return state.exists() and state.read_text().split()[2] != "Z"


def test_what_it_leaves_in_a_session_of_its_own_is_not_waited_for_and_what_it_said_is_known(left: Path) -> None:
    answer = run_program(leaving(left, "echo added; echo fine >&2"), seconds=20)
    assert runs(left), "it holds the output open, and nobody has ended it"
    assert (answer.code, answer.stdout, answer.stderr) == (0, b"added\n", b"fine\n")


def test_one_that_hangs_is_given_up_although_what_it_left_holds_its_output(left: Path) -> None:
    with pytest.raises(OutcomeUnknown, match="did not end within 2 s and was killed"):
        run_program(leaving(left, "sleep 60"), seconds=2)
    assert runs(left)


def test_one_that_cannot_be_started_is_named() -> None:
    with pytest.raises(Refused, match="the program /no/such/program cannot be started"):
        run_program(["/no/such/program"], seconds=1)


def test_it_is_given_no_file_of_this_process() -> None:
    with Path(os.devnull).open("rb") as file:
        os.set_inheritable(file.fileno(), True)
        code = f"import os; os.fstat({file.fileno()})"
        assert run_program(python(code), seconds=20).code != 0
