"""Hooks of a test run's first process: at its end no process is left, also when it was interrupted."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from lab.leftovers import RUN, end_leftovers, new_run

_NAME = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Name the run, so that whatever it starts can be found. A worker has the name of the process that started it."""
    if hasattr(config, "workerinput"):
        return
    config.stash[_NAME] = os.environ[RUN] = new_run()
    # Fixtures are torn down, and pytest_unconfigure is called. In the background of a shell SIGINT would be ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Kill what is left of the run."""
    name = config.stash.get(_NAME, "")
    if name and (left := end_leftovers(name, config._tmp_path_factory.getbasetemp())):  # type: ignore[attr-defined]
        print(f"{left} processes that the run had left were killed", file=sys.stderr)  # noqa: T201
