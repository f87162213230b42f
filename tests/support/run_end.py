"""Hooks of a test run's first process: at its end no process is left, also when it was interrupted."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kafka_dr.storage import child_process
from lab.leftovers import NOTE, RUN, end_leftovers, new_run
from lab.processes import uninterrupted

#: Of ``linux/prctl.h``.
_PR_SET_PDEATHSIG = 1
#: Of the command of what reaches storage, and of the JVM of a Spark session.
_END_WITH_THEIR_PARENT = {child_process.__file__, "pyspark-shell"}
#: Name the folders of running labs that tests use instead of labs of their own; those are left as they are.
RUNNING_LAB, RUNNING_PAIRS = "KAFKA_DR_TEST_LAB", "KAFKA_DR_TEST_PAIRS"
_NAME = pytest.StashKey[str]()
_PARENT = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Name the run, so that whatever it starts can be found. A worker has the name of the process that started it."""
    if hasattr(config, "workerinput"):
        return
    config.stash[_NAME] = os.environ[RUN] = new_run()
    # Fixtures are torn down, and pytest_unconfigure is called. In the background of a shell SIGINT would be ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    # A run inside this one has a folder of its own.
    note = os.environ.pop(NOTE, None)
    if note:
        Path(note).write_text(str(_folder(config)), "utf-8")
        config.stash[_PARENT] = os.getppid()
        _be_interrupted_when_the_parent_ends()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Kill what is left of the run."""
    name = config.stash.get(_NAME, "")
    if config.stash.get(_PARENT, os.getppid()) != os.getppid():
        name = name.rpartition("/")[0]  # nobody else ends what the parent has started
    if name:
        with uninterrupted():
            _end_what_ends_with_this_process()
            used = [Path(os.environ[name]) for name in (RUNNING_LAB, RUNNING_PAIRS) if name in os.environ]
            left = end_leftovers(name, _folder(config), labs_of_others=used)
        if left:
            said = "\n".join((f"{len(left)} processes that the run had left were killed:", *left))
            print(said, file=sys.stderr)  # noqa: T201


def _end_what_ends_with_this_process() -> None:
    """End the children that would end with this process in a moment: so the run has not left them."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if _END_WITH_THEIR_PARENT & set(child.cmdline()):
                child.kill()


def _folder(config: pytest.Config) -> Path:
    """The folder of the run's temporary files, with those of its workers."""
    return Path(config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]


def _be_interrupted_when_the_parent_ends() -> None:
    """Nobody would wait for the result of this run any more."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
