"""Running a program that the topology declares: by its path, without a shell, for a limited time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kafka_dr.errors import OutcomeUnknown, Refused
from kafka_dr.quoting import line

#: How much of what a program says is shown, in characters.
_SHOWN = 300
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
    """Run a program to its end.

    :param command: its path and its arguments
    :param seconds: after how long it is killed, with every process that it started in its group
    :param folder: where it runs
    :param more: environment variables in addition to this process's own
    :raises Refused: it cannot be started
    :raises OutcomeUnknown: it did not end in time: it may have done what it was asked for
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**own, **(more or {})},
            start_new_session=True,
        )
    except OSError as error:
        raise Refused(f"the program {command[0]} cannot be started ({error}): check the path and its rights") from error
    try:
        stdout, stderr = process.communicate(stdin, timeout=max(0.0, seconds))
    except subprocess.TimeoutExpired:
        # Also processes that it started and that hold its output open.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise OutcomeUnknown(
            f"the program {command[0]} did not end within {seconds:.0f} s and was killed: find out what it waits for"
        ) from None
    return ProgramAnswer(process.returncode, stdout, stderr)
