"""Commands of the lab that somebody ends: by a signal, or by closing the terminal."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from lab.api import Lab
from lab.cli import main
from lab.demo.observed.rehearsal import ObservedRehearsal, ObservedWishes
from lab.demo.options import DemoOptions
from lab.demo.rehearsal import Rehearsal
from lab.layout import PROJECT
from lab.processes import INTERRUPTS, Command
from lab.traffic.control import Traffic
from support.terminal import OwnTerminal
from support.waiting import eventually

SECONDS = 60.0


@pytest.mark.parametrize("end", [OwnTerminal.end_it, OwnTerminal.press_control_c, OwnTerminal.close_the_window])
def test_however_a_command_is_ended_it_ends_by_itself(tmp_path: Path, end: Callable[[OwnTerminal], None]) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # another command works on this lab: this one waits for it
        argv = [sys.executable, str(PROJECT / "include" / "lab"), "down", "--home", str(tmp_path)]
        command = OwnTerminal(argv, seconds=SECONDS)
        process = psutil.Process(command.pid)
        eventually(lambda: process.cmdline()[-1:] == [str(tmp_path)] and waits(process, lock), seconds=SECONDS)
        end(command)
        assert command.exit_code() == 130


def waits(process: psutil.Process, lock: Path) -> bool:
    return str(lock) in [file.path for file in process.open_files()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("rehearsal", "wishes"),
    [(Rehearsal, DemoOptions()), (ObservedRehearsal, ObservedWishes())],
    ids=["demo", "observe"],
)
def test_a_demo_that_is_interrupted_again_and_again_stops_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rehearsal: Any, wishes: Any, number: signal.Signals
) -> None:
    stopped: list[str] = []

    def interrupted(what: str) -> Callable[..., None]:
        def stop(*_: object, **__: object) -> None:
            os.kill(os.getpid(), number)
            stopped.append(what)

        return stop

    def up(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Lab, "up", up)
    monkeypatch.setattr(Lab, "down", interrupted("lab"))
    monkeypatch.setattr(Traffic, "stop", interrupted("applications"))
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            rehearsal(Lab(tmp_path), wishes, Console(quiet=True)).run()
    finally:
        signal.signal(number, before)
    assert stopped == ["applications", "lab"]


@pytest.mark.parametrize("observe", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("runs", [False, True])
def test_a_lab_is_not_called_stopped_while_it_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    observe: bool,
    keep: bool,
    runs: bool,
) -> None:
    left = runs and keep
    process = Command("east-broker-1", ("/bin/sleep", "600"), folder=tmp_path)

    def up(lab: Lab, **_: object) -> None:
        if runs:  # else it has ended by itself what it had started
            lab.supervisor.start(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(Lab, "up", up)
    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    lab = Lab(tmp_path / "lab")
    try:
        code = main(["demo", "--home", str(lab.home.root), *["--observe"] * observe, *["--keep"] * keep])
        assert lab.status().in_use is left
    finally:
        lab.down()
        for number, handler in before.items():
            signal.signal(number, handler)
    said = capsys.readouterr().err
    assert code == 130
    assert ("the lab continues because of --keep: end it with `down`" in said) is left, said
    assert ("is stopped again" in said) is not left, said
