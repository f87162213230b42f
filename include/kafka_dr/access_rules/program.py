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

from kafka_dr.errors import OutcomeUnknown, Refused
from kafka_dr.quoting import line

#: How much of what a program says is shown, in characters.
_SHOWN = 300
#: How long a killed process may take to end: one that waits for storage that hangs does not end before it.
_KILLED_SECONDS = 5.0
#: Airflow's variables hold connections, keys and its database: a program of others does not get them.
_WITHHELD = ("AIRFLOW",)


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """What a program said.

    :param code: its exit code; negative: the signal that ended it
    """

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def said(self) -> str:
        """The end of what it wrote, its complaints first."""
        text = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", errors="replace")
        shown = line(text[-_SHOWN:])
        return shown or "it wrote nothing"


def run_program(
    command: Sequence[str],
    *,
    seconds: float,
    stdin: bytes = b"",
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> ProgramAnswer:
    """Run a program to its end. Processes that it leaves are not waited for.

    :param command: its path and its arguments
    :param seconds: after how long it is killed, with every process that it started in its group
    :param folder: where it runs
    :param more: environment variables in addition to this process's own
    :raises Refused: it cannot be started
    :raises OutcomeUnknown: it did not end in time: it may have done what it was asked for
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
    with ExitStack() as files:
        try:
            asked, stdout, stderr = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            asked.write(stdin)
            asked.seek(0)
            process = subprocess.Popen(
                list(command),
                stdin=asked,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
                env={**own, **(more or {})},
                start_new_session=True,
            )
        except OSError as error:
            raise Refused(
                f"the program {command[0]} cannot be started ({error}): check the path and its rights, and whether "
                "there is room for temporary files"
            ) from error
        try:
            code = process.wait(timeout=max(0.0, seconds))
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise OutcomeUnknown(
                f"the program {command[0]} did not end within {seconds:.0f} s and was killed: find out what it waits "
                "for"
            ) from None
        return ProgramAnswer(code, _written(stdout), _written(stderr))


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_KILLED_SECONDS)


def _written(file: IO[bytes]) -> bytes:
    """Return what is in a file now: the position is shared with processes that may still write."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)
