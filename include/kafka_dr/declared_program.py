"""Running a program that the topology declares: by its path, without a shell, for a limited time.

It reads from and writes to files, not pipes. A pipe ends only when every process that holds it has ended, and a program
may leave one in a session of its own, which nobody here can find and end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kafka_dr.causes import cause
from kafka_dr.durations import duration
from kafka_dr.errors import OutcomeUnknown, Refused
from kafka_dr.quoting import line

#: How long a killed process may take to end: one that waits for storage that hangs does not end before it.
_KILLED_SECONDS = 5.0
#: How much of what a program says is shown, in characters.
_SHOWN = 300
#: Airflow's variables hold connections, keys and its database: a program of others does not get them.
_WITHHELD = ("AIRFLOW",)


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended, and what it wrote.

    :param code: its exit code; negative: the signal that ended it
    :param stderr: empty if it wrote both together
    """

    code: int
    stdout: bytes
    stderr: bytes


def run_in_time(
    command: Sequence[str],
    *,
    seconds: float,
    environ: Mapping[str, str],
    folder: Path,
    stdin: bytes = b"",
    together: bool = False,
    at_most: int | None = None,
) -> ProgramEnd:
    """Run a program to its end. Processes that it leaves are not waited for.

    :param command: its path and its arguments
    :param seconds: after how long it is killed, with every process that it started in its group
    :param environ: all of its environment
    :param folder: where it runs
    :param together: whether what it writes to stderr is among what it writes to stdout, in its order
    :param at_most: how many bytes of the end of what it wrote are read; ``None``: all
    :raises OSError: it cannot be started
    :raises subprocess.TimeoutExpired: it did not end in time, and was killed
    """
    with ExitStack() as files:
        asked, stdout, stderr = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        asked.write(stdin)
        asked.seek(0)
        process = subprocess.Popen(
            list(command),
            stdin=asked,
            stdout=stdout,
            stderr=subprocess.STDOUT if together else stderr,
            cwd=folder,
            env=dict(environ),
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=max(0.0, seconds))
        except BaseException:
            _end(process)
            raise
        return ProgramEnd(code, _written(stdout, at_most), _written(stderr, at_most))


def run_program(
    command: Sequence[str],
    *,
    seconds: float,
    stdin: bytes = b"",
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> ProgramEnd:
    """Run a program to its end. Processes that it leaves are not waited for.

    :param command: its path and its arguments
    :param seconds: after how long it is killed, with every process that it started in its group
    :param folder: where it runs; ``None``: where this process does
    :param more: environment variables in addition to this process's own
    :raises Refused: it cannot be started
    :raises OutcomeUnknown: it did not end in time: it may have done what it was asked for
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
    try:
        return run_in_time(
            command, seconds=seconds, environ={**own, **(more or {})}, folder=folder or Path.cwd(), stdin=stdin
        )
    except OSError as error:
        raise Refused(
            f"the program {command[0]} cannot be started ({cause(error)}): check the path and its rights, and whether "
            "there is room for temporary files"
        ) from error
    except subprocess.TimeoutExpired:
        raise OutcomeUnknown(
            f"the program {command[0]} did not end within {duration(seconds)} and was killed: find out what it waits "
            "for"
        ) from None


def said_by(end: ProgramEnd) -> str:
    """Return the end of what a program wrote, its complaints first."""
    text = (end.stderr.strip() or end.stdout.strip()).decode("utf-8", errors="replace")
    shown = line(text[-_SHOWN:])
    return shown or "it wrote nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_KILLED_SECONDS)


def _written(file: IO[bytes], at_most: int | None) -> bytes:
    """Return the end of what is in a file now: the position is shared with processes that may still write."""
    size = os.fstat(file.fileno()).st_size
    wanted = size if at_most is None else min(size, at_most)
    return os.pread(file.fileno(), wanted, size - wanted)
