from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.replication.existing.owned_process import OwnedProcess, OwnersCommands
from kafka_dr.replication.existing.owners_command import run_command

LONG = 60.0


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_command_that_answers_0_is_done() -> None:
    run_command(shell("exit 0"), deadline_seconds=LONG)


def test_another_answer_is_said_with_the_last_line_and_nothing_that_acts() -> None:
    with pytest.raises(TryAgain, match=r"/bin/sh answered 3, expected 0: it \\x1b\[31mhangs$"):
        run_command(shell("echo first; printf 'it \\033[31mhangs\\n\\n'; exit 3"), deadline_seconds=LONG)


def test_an_answer_without_a_word_is_said_without_one() -> None:
    with pytest.raises(TryAgain, match=r"answered 1, expected 0$"):
        run_command(shell("exit 1"), deadline_seconds=LONG)


@pytest.mark.parametrize("program", ["/nowhere/stop", "/etc/passwd"])
def test_what_is_no_program_is_refused(program: str) -> None:
    with pytest.raises(Refused, match=f"{program} cannot be started on this machine"):
        run_command((program,), deadline_seconds=LONG)


def test_no_shell_reads_the_arguments(tmp_path: Path) -> None:
    made = tmp_path / "made"
    run_command(("/bin/echo", f"$(touch {made}); touch {made}"), deadline_seconds=LONG)
    assert not made.exists()


def test_it_gets_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA", "a secret")
    run_command(shell('test -z "$AIRFLOW_CONN_KAFKA" && test -n "$PATH"'), deadline_seconds=LONG)


def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(TryAgain, match=r"did not end within 0\.2 s, and was ended"):
        run_command(shell(f"sleep 60 & echo $! > {child}; wait"), deadline_seconds=0.2)
    # Killed together with the shell, it may end a moment after it.
    process, deadline = int(child.read_text()), time.monotonic() + LONG
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_that_a_command_starts_is_not_waited_for_and_stays(tmp_path: Path) -> None:
    child = tmp_path / "child"
    run_command(shell(f"sleep 60 & echo $! > {child}"), deadline_seconds=LONG)
    process = int(child.read_text())
    try:
        assert alive(process)
    finally:
        os.kill(process, signal.SIGKILL)


def test_the_shorter_of_both_deadlines_holds() -> None:
    process = OwnedProcess("external", OwnersCommands(stop=shell("sleep 60"), seconds=0.1))
    with pytest.raises(TryAgain, match=r"within 0\.1 s"):
        process.stop(LONG)
    process = OwnedProcess("external", OwnersCommands(stop=shell("sleep 60"), seconds=LONG))
    with pytest.raises(TryAgain, match=r"within 0\.1 s"):
        process.stop(0.1)


@pytest.mark.parametrize(("stop", "start"), [((), ()), (shell("exit 0"), ()), (shell("exit 0"), shell("exit 0"))])
def test_a_process_does_what_its_owner_has_a_command_for_and_refuses_the_rest(
    stop: tuple[str, ...], start: tuple[str, ...]
) -> None:
    process = OwnedProcess("external", OwnersCommands(stop, start))
    able = process.abilities()
    assert (able.stop.can, able.resume.can) == (bool(stop), bool(start))
    assert not any(each.can for each in (able.state, able.positions, able.exactly_once, able.seed))
    was = process.status()
    assert not was.at_rest
    for can, act in (
        (able.stop.can, lambda: process.stop(LONG)),
        (able.resume.can, lambda: process.resume(was, LONG)),
        (able.seed.can, lambda: process.seed({})),
    ):
        if can:
            act()
        else:
            with pytest.raises(Refused):
                act()
    assert (process.positions(), process.transactional_ids(), process.unfit(["a"])) == (None, (), ())
