"""The processes of one lab: started in a session of their own, known again by pid and start time, ended whole.

What a killed parent left behind is found by its session, whose number is the parent's pid, and by a mark in its
environment (``KAFKA_DR_LAB_PROCESS``); a process that changes its title overwrites the mark, one that makes a session
of its own leaves the parent's. So ``down`` leaves nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from lab.errors import LabError, NotReady
from lab.layout import Home

MARK = "KAFKA_DR_LAB_PROCESS"
SAME_SECONDS = 0.05  # start times are read with this precision
KILL_SECONDS = 10.0
PAUSE_SECONDS = 60.0
#: What people, programs and a terminal that is closed send to end a command.
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_started: dict[int, subprocess.Popen[bytes]] = {}  # kept so that a process that ends here does not stay a zombie


@dataclass(frozen=True, slots=True)
class Command:
    """How to start one process of the lab.

    :param environ: added to the environment of this process; no secrets, it is written down.
    :param grace_seconds: how long it may take to end when asked to.
    """

    name: str
    argv: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    grace_seconds: float = 10.0


class Supervisor:
    """Starts, finds and ends the processes of one lab.

    :param home: the lab's folders.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def log(self, name: str) -> Path:
        """The file with what the process printed."""
        return self._home.logs / f"{name}.log"

    def names(self) -> tuple[str, ...]:
        """Every process that was started and not stopped, running or dead."""
        return tuple(sorted(path.stem for path in self._home.run.glob("*.json")))

    def find(self, name: str) -> psutil.Process | None:
        """The running process of this name; ``None`` if it was never started or has ended, however it ended."""
        record = self._read(name)
        if record is None:
            return None
        try:
            process = psutil.Process(int(record["pid"]))
            return process if _is(process, record) and _lives(process) else None
        except psutil.Error:
            return None

    def start(self, command: Command) -> psutil.Process:
        """Start a process that outlives this command; its pid and start time are on disk before this returns."""
        self._end_members(command.name, grace_seconds=0)
        environ = inherited() | dict(command.environ) | {MARK: self.mark(command.name)}
        with self.fresh_log(command.name).open("ab") as output:
            child = subprocess.Popen(
                command.argv,
                env=environ,
                cwd=command.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _started[child.pid] = child
        return self.record(command, child.pid)

    def record(self, command: Command, pid: int) -> psutil.Process:
        """Write down that this process, which leads a session of its own, is the one of the command's name."""
        process = psutil.Process(pid)
        record = {
            "pid": pid,
            "created": process.create_time(),
            "argv": command.argv,
            "folder": str(command.folder),
            "environ": dict(command.environ),
            "grace_seconds": command.grace_seconds,
        }
        self._home.run.mkdir(parents=True, exist_ok=True)
        draft = self._record(command.name).with_suffix(".draft")
        draft.write_text(json.dumps(record))
        draft.replace(self._record(command.name))
        return process

    def fresh_log(self, name: str) -> Path:
        """An empty log for a process that is about to start; the one before stays as ``.log.1``."""
        self._home.logs.mkdir(parents=True, exist_ok=True)
        log = self.log(name)
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        log.touch()
        return log

    def stop(self, name: str, *, at_once: bool = False) -> None:
        """End a process and all that it started: politely, after its grace by force; return when nothing is left.

        :param at_once: by force from the start: nothing that it has written is needed any more
        :raises LabError: something cannot be ended.
        """
        record = self._read(name)
        grace_seconds = float(record["grace_seconds"]) if record and not at_once else 0.0
        self._end_members(name, grace_seconds=grace_seconds)
        self._record(name).unlink(missing_ok=True)

    def restart(self, name: str) -> psutil.Process:
        """Start a process again as it was started last; if it runs, it is stopped first.

        :raises LabError: it was never started.
        """
        record = self._read(name)
        if record is None:
            raise LabError(f"{name} was never started in {self._home.root}; `status` shows what was")
        self.stop(name)
        return self.start(
            Command(
                name=name,
                argv=tuple(record["argv"]),
                folder=Path(record["folder"]),
                environ=record["environ"],
                grace_seconds=float(record["grace_seconds"]),
            )
        )

    def kill(self, name: str) -> None:
        """End a process at once, as a crash would, and what it started with it. It still counts as started."""
        self.signal(name, signal.SIGKILL)
        self._end_members(name, grace_seconds=0)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a running process.

        :raises LabError: it does not run.
        """
        process = self.find(name)
        if process is None:
            raise LabError(f"{name} does not run; `status` shows what does")
        process.send_signal(number)

    def pause(self, name: str) -> None:
        """Stop a process from running without ending it, and return when none of its threads runs any more.

        On a busy machine the signal is noticed late, and a broker that was sent it still answers requests.

        :raises LabError: it does not run, or it could not be stopped.
        """
        self.signal(name, signal.SIGSTOP)
        deadline = time.monotonic() + PAUSE_SECONDS
        while (process := self.find(name)) is not None and not _is_paused(process.pid):
            if time.monotonic() > deadline:
                raise LabError(f"{name} (pid {process.pid}) was sent SIGSTOP {PAUSE_SECONDS:g} s ago, and still runs")
            time.sleep(0.01)

    def members(self, name: str) -> list[psutil.Process]:
        """Every living process of this name: itself, its descendants, and what a dead parent left behind."""
        found = {process.pid: process for process, mark in _marked() if mark == self.mark(name)}
        record = self._read(name)
        if record is not None:
            found |= {process.pid: process for process in _session(record)}
        for process in list(found.values()):
            with suppress(psutil.Error):
                found |= {child.pid: child for child in process.children(recursive=True) if _lives(child)}
        return list(found.values())

    def argv(self) -> dict[str, str]:
        """The command line of every living process, by its name and pid, as everybody on the machine can read it."""
        found = {}
        for name in self.names():
            for process in self.members(name):
                with suppress(psutil.Error):
                    found[f"{name} ({process.pid})"] = " ".join(process.cmdline())
        return found

    def strays(self) -> list[psutil.Process]:
        """Every living process that carries this lab's mark and belongs to none of its running processes."""
        known = {member.pid for name in self.names() if self.find(name) for member in self.members(name)}
        marked = [process for process, mark in _marked() if mark.startswith(f"{self._home.root}#")]
        return [process for process in marked if process.pid not in known]

    def sweep(self) -> None:
        """End what dead parents and interrupted commands left behind; what runs as recorded is left alone.

        :raises LabError: something cannot be ended.
        """
        for name in self.names():
            if self.find(name) is None:
                self._end_members(name, grace_seconds=0)
        end(self.strays(), "what an interrupted command left behind")

    def last_lines(self, name: str, *, count: int = 8) -> str:
        """The end of the process's log."""
        try:
            lines = self.log(name).read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return "\n".join(line[:300] for line in lines[-count:])

    def wait(
        self,
        names: Sequence[str],
        ready: Callable[[], bool],
        *,
        seconds: float,
        expected: str,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait until ``ready`` says so.

        :param names: the processes that it depends on, the one that answers first.
        :raises NotReady: one of them ended or the deadline passed; the end of its log is in the message.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if cancelled():
                raise NotReady(f"{names[0]} was not waited for, because another part failed")
            for name in names:
                if self.find(name) is None:
                    raise NotReady(f"{name} ended while it was starting; the end of its log:\n{self.last_lines(name)}")
            if time.monotonic() > deadline:
                raise NotReady(
                    f"{', '.join(names)}: running, but {expected} did not come within {seconds:.0f} s; "
                    f"the end of the log of {names[0]}:\n{self.last_lines(names[0])}"
                )
            time.sleep(0.1)

    def mark(self, name: str) -> str:
        """What a process of this name carries in its environment."""
        return f"{self._home.root}#{name}"

    def _record(self, name: str) -> Path:
        return self._home.run / f"{name}.json"

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            record: dict[str, Any] = json.loads(self._record(name).read_text())
        except (FileNotFoundError, ValueError):
            return None
        return record if {"pid", "created"} <= record.keys() else None

    def _end_members(self, name: str, *, grace_seconds: float) -> None:
        """End what carries the name; a parent first, which may end its children better than we can."""
        before = self.members(name)
        parent = self.find(name)
        if parent is not None and grace_seconds:
            with suppress(psutil.NoSuchProcess):
                parent.send_signal(signal.SIGCONT)  # a paused process cannot end politely
                parent.terminate()
            _gone([parent], grace_seconds)
        end([*before, *self.members(name)], name)
        for pid, child in list(_started.items()):
            if child.poll() is not None:
                _started.pop(pid, None)  # another thread may have ended that one


def inherited() -> dict[str, str]:
    """This process's environment without what would change a Java process or an Airflow."""
    strangers = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "KAFKA_OPTS")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in strangers and not name.startswith(("AIRFLOW", "_AIRFLOW"))
    }


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no impatient second signal stop what ends processes: it takes seconds, and has a deadline."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(processes: Sequence[psutil.Process], what: str) -> None:
    """Kill processes and wait until they are gone.

    :param what: what they are, for the message
    :raises LabError: one cannot be ended
    """
    members = {process.pid: process for process in processes if _lives(process)}
    for member in members.values():
        with suppress(psutil.NoSuchProcess):
            member.kill()
    if not _gone(list(members.values()), KILL_SECONDS):
        pids = ", ".join(str(pid) for pid, process in members.items() if _lives(process))
        raise LabError(f"{what} was killed and still runs (pid {pids}): end it by hand and try again")


def _gone(processes: Sequence[psutil.Process], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(_lives(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is(process: psutil.Process, record: Mapping[str, Any]) -> bool:
    return abs(process.create_time() - float(record["created"])) < SAME_SECONDS


def _session(record: Mapping[str, Any]) -> Iterator[psutil.Process]:
    """The living processes in the session of the recorded process, unless its number now belongs to another one."""
    leader = int(record["pid"])
    with suppress(psutil.Error):
        if not _is(psutil.Process(leader), record):
            return
    earliest = float(record["created"]) - SAME_SECONDS
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == leader and process.create_time() > earliest and _lives(process):
                yield process


def _is_paused(pid: int) -> bool:
    states = []
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            states.append(thread.read_text().rpartition(")")[2].split()[0])
    return set(states) <= {"T"}  # empty where the system has no such folder


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _marked() -> Iterator[tuple[psutil.Process, str]]:
    me = os.getpid()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != me and process.status() != psutil.STATUS_ZOMBIE:
                mark = process.environ().get(MARK)
                if mark is not None:
                    yield process, mark
