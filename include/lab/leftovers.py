"""Ends every process that a test run started, however the run ended.

pytest-xdist gives an interrupted worker a few seconds, and stopping a lab takes longer. So every run has a name of its
own in the environment, which all processes that it starts inherit. After the run, whatever still has it is killed.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from glob import glob
from pathlib import Path

import psutil

from lab.layout import Home
from lab.processes import MARK, Supervisor, end

#: Names the test run that started a process; a run inside another one is ``outer/inner``.
RUN = "KAFKA_DR_TEST_RUN"
#: Names the file in which a test run notes the folder of its temporary files, for who started the run and outlives it.
NOTE = "KAFKA_DR_TEST_NOTE"
#: How long what ends with its parent, as the child of a storage does, has to do so.
_ENDING_SECONDS = 5.0
#: How much of a command is shown.
_MOST_LETTERS = 120
#: Where tests keep their labs, from the folder of the run on: below a worker, a test or both.
_LABS = ("*/run", "*/*/run", "*/*/*/run", "*/*/*/*/run")


def new_run(environ: Mapping[str, str] = os.environ) -> str:
    """Return a name for a test run that begins in this environment."""
    return "/".join(filter(None, (environ.get(RUN), uuid.uuid4().hex)))


def noted_folder(note: Path) -> Path | None:
    """Return the folder that a test run has noted; ``None`` if it had not begun."""
    return Path(note.read_text("utf-8")) if note.exists() else None


def end_leftovers(run: str, folder: Path | None = None, *, labs_of_others: Collection[Path] = ()) -> list[str]:
    """Kill what a test run left.

    :param run: the run's name, as :func:`new_run` returned it
    :param folder: the folder of the run's temporary files. Airflow's processes hide their environment, so they are
        found by the records of the labs in that folder.
    :param labs_of_others: folders of labs that the run used and did not start. A broker of theirs that a test killed
        and started again stays
    :returns: the command of each process that was killed
    :raises LabError: one cannot be ended
    """
    marks = tuple(f"{lab.absolute()}#" for lab in labs_of_others)
    psutil.wait_procs(_named(run, marks), timeout=_ENDING_SECONDS)
    # Workers first: a living worker would start more.
    killed = _kill(_named(run, marks))
    for lab in _labs_in(folder) if folder is not None else ():
        supervisor = Supervisor(Home(lab))
        killed += _kill(member for name in supervisor.names() for member in supervisor.members(name))
    return killed + _kill(_named(run, marks))


def _labs_in(folder: Path) -> Iterator[Path]:
    """Yield the folders of labs. Tests that end meanwhile delete theirs, which ``Path.glob`` does not expect."""
    for pattern in _LABS:
        yield from (folder / Path(found).parent for found in glob(pattern, root_dir=folder))  # noqa: PTH207


def _kill(processes: Iterable[psutil.Process]) -> list[str]:
    """Kill what is younger than this process: no record, however wrong, may end what this run did not start."""
    me = psutil.Process()
    spared = {me.pid, *(parent.pid for parent in me.parents())}
    killed = [each for each in processes if each.pid not in spared and each.create_time() >= me.create_time()]
    commands = [_command(each) for each in killed]
    end(killed, "what a test run left")
    return commands


def _command(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())[:_MOST_LETTERS]
    return f"process {process.pid}"


def _named(run: str, others: tuple[str, ...]) -> list[psutil.Process]:
    """Return what a run started, without the processes of labs whose marks begin like these."""
    return [
        process for process, name, mark in _runs() if f"{name}/".startswith(f"{run}/") and not mark.startswith(others)
    ]


def _runs() -> Iterator[tuple[psutil.Process, str, str]]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            environ = process.environ() if process.status() != psutil.STATUS_ZOMBIE else {}
            if name := environ.get(RUN):
                yield process, name, environ.get(MARK, "")
