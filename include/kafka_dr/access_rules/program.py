"""Asking a program that the topology declares: what it gets of this process, and what its end means for a fence."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_dr.causes import cause
from kafka_dr.declared_program import ProgramEnd, run_in_time
from kafka_dr.durations import duration
from kafka_dr.errors import OutcomeUnknown, Refused
from kafka_dr.quoting import line

#: How much of what a program says is shown, in characters.
_SHOWN = 300
#: Airflow's variables hold connections, keys and its database: a program of others does not get them.
_WITHHELD = ("AIRFLOW",)


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
