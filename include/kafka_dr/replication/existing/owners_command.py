"""A command of the owner of a process: the only way to stop or start what no API reaches.

The topology names the program and its arguments. No shell reads them. It gets no variable of the process that runs it
but where programs are, its folder and a language: that process may hold secrets in its environment.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_dr.causes import cause
from kafka_dr.declared_program import run_in_time
from kafka_dr.durations import duration
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
    try:
        end = run_in_time(
            argv,
            seconds=deadline_seconds,
            environ={name: os.environ[name] for name in _INHERITED if name in os.environ},
            folder=Path("/"),
            together=True,
            at_most=4 * _SHOWN,
        )
    except OSError as error:
        raise Refused(
            f"{line(argv[0])} cannot be started on this machine ({cause(error)}): correct the command in "
            "existing_replication"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise TryAgain(
            f"{line(argv[0])} did not end within {duration(deadline_seconds)}, and was ended: look at what it waits "
            "for. A command that starts a process must not wait for the end of that process"
        ) from error
    if end.code != 0:
        last = _last_line(end.stdout.decode("utf-8", "replace"))
        raise TryAgain(f"{line(argv[0])} answered {end.code}, expected 0{f': {last}' if last else ''}")


def _last_line(written: str) -> str:
    lines = [each for each in written.splitlines() if each.strip()]
    return line(lines[-1].strip()[-_SHOWN:]) if lines else ""
