"""One audit of a shared application, as the process that it runs in and as the parent sees that process."""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from jobs.session import UNKNOWN, Sessions, exit_code
from jobs.shared.joined_session import joined_sessions
from jobs.shared.requests import AuditEnded, AuditRequest

#: Runs an audit's own command line with sessions of that kind, and returns its exit code.
RunJob = Callable[[Sequence[str], Sessions], int]
#: How a job's line begins that says what it could not find out.
_UNKNOWN_LINE = "unknown: "
_MOST_LINE = 1 << 16
#: What a process announces.
_TAG, _MEMORY = "tag", "memory"
_FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class AuditProcess:
    """An audit that runs, as its parent sees it.

    :param began: on the parent's clock
    :param tag: of its Spark jobs; empty until it uses Spark
    :param peak_memory_mb: 0 until it has ended by itself
    """

    request: AuditRequest
    process: Any
    output: int
    control: Connection
    began: float
    tag: str = ""
    peak_memory_mb: int = 0
    _hears: bool = True
    _rest: bytes = b""
    _said: list[str] = field(default_factory=list)

    @classmethod
    def begin(
        cls, request: AuditRequest, job: RunJob, topology: Path, *, started: Event, foreign: Connection, now: float
    ) -> AuditProcess:
        """Fork the process of an audit.

        :param topology: the topology file
        :param started: set when the application's Spark has started
        :param foreign: of the parent alone; the process closes it
        :param now: on the parent's clock
        """
        output, written = os.pipe()
        control, other = multiprocessing.Pipe(duplex=False)
        command = ["--topology", str(topology), "--flow", request.flow, *request.arguments]
        process = _FORK.Process(target=_run, args=(job, command, started, written, other, foreign), name=request.name)
        process.start()
        os.close(written)
        other.close()
        return cls(request, process, output, control, now)

    @property
    def waited_for(self) -> tuple[Any, ...]:
        """What can be read when the process says something, or is over."""
        return (self.output, self.control) if self._hears else (self.output,)

    def read_output(self) -> bool:
        """Print what the process has printed, with the name of the audit; return whether there may be more."""
        found = os.read(self.output, _MOST_LINE)
        *lines, self._rest = (self._rest + found).split(b"\n")
        if (not found or len(self._rest) >= _MOST_LINE) and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            text = line.decode(errors="replace")
            print(f"[{self.request.name}] {text}", flush=True)
            if text.strip():
                self._said = [*self._said[-99:], text.strip()]
        return bool(found)

    def hear(self) -> None:
        """Take what the process announces: the tag of its Spark jobs, and at the end its memory."""
        try:
            while self._hears and self.control.poll():
                what, value = self.control.recv()
                if what == _TAG:
                    self.tag = value
                else:
                    self.peak_memory_mb = value
        except (EOFError, OSError):
            self._hears = False

    def kill(self) -> None:
        """End the process at once, and show what it has said."""
        self.process.kill()
        self.process.join()
        while self.read_output():
            pass

    def ended(self, now: float, *, because: str = "") -> AuditEnded:
        """Return how the audit ended, of a process that is over.

        :param because: why the parent ended it
        """
        self.process.join()
        self.hear()
        code, said = self.process.exitcode, self._sentence
        if because:
            code, said = UNKNOWN, because
        elif code < 0:
            name = signal.Signals(-code).name
            code, said = UNKNOWN, f"its process was ended by {name}; the last that it said: {said or 'nothing'}"
        elif code not in (0, 1, UNKNOWN):
            code, said = UNKNOWN, f"its process ended with {code}; the last that it said: {said or 'nothing'}"
        return AuditEnded(code, said, round(now - self.began, 3), self.peak_memory_mb)

    def close(self) -> None:
        """Give back what the process was reached by."""
        os.close(self.output)
        self.control.close()
        self.process.close()

    @property
    def _sentence(self) -> str:
        unknown = [line for line in self._said if line.startswith(_UNKNOWN_LINE)]
        return (unknown or self._said or [""])[-1].removeprefix(_UNKNOWN_LINE)


def _run(
    job: RunJob, command: Sequence[str], started: Event, output: int, control: Connection, foreign: Connection
) -> None:
    """Be the process of one audit."""
    foreign.close()
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(number, "w", closefd=False), line_buffering=True) for number in (1, 2)
    )
    sessions = joined_sessions(started.wait, lambda tag: control.send((_TAG, tag)))
    code = exit_code(lambda: job(command, sessions))
    control.send((_MEMORY, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))
    sys.exit(code)
