"""A command of the owner of a process: the only way to stop or start what no API reaches.

The topology names the program and its arguments. No shell reads them. It gets no variable of the process that runs it
but where programs are, its folder and a language: that process may hold secrets in its environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.quoting import line

_INHERITED = ("PATH", "HOME", "LANG")
#: Of what the command wrote last, so many characters are shown.
_SHOWN = 200


def run_command(argv: Sequence[str], *, deadline_seconds: float) -> None:
    """Run a command and wait until it answers 0.

    Processes that it leaves keep running. If it does not end in time, it is ended with everything that it started.

    :param argv: the program and its arguments
    :raises Refused: there is no such program, or it may not be started
    :raises TryAgain: it answered something else, or did not end in time
    """
    # Not a pipe: a process that the command leaves would keep it open.
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise Refused(
                f"{line(argv[0])} cannot be started on this machine ({error.strerror}): correct the command in "
                "existing_replication"
            ) from error
        try:
            code = process.wait(timeout=deadline_seconds)
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise TryAgain(
                f"{line(argv[0])} did not end within {deadline_seconds:g} s, and was ended: look at what it waits for. "
                "A command that starts a process must not wait for the end of that process"
            ) from error
        if code != 0:
            last = _last_line(said.seek(0, os.SEEK_END), said.fileno())
            raise TryAgain(f"{line(argv[0])} answered {code}, expected 0{f': {last}' if last else ''}")


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(size: int, descriptor: int) -> str:
    written = os.pread(descriptor, 4 * _SHOWN, max(0, size - 4 * _SHOWN)).decode("utf-8", "replace")
    lines = [each for each in written.splitlines() if each.strip()]
    return line(lines[-1].strip()[-_SHOWN:]) if lines else ""
