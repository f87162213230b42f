"""Labs of these tests' own: what they do to a protection group cannot be shared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.api import Lab
from lab.layout import PROJECT
from support import free_ports

_PORT_BASES = (31000, 22000, 21000)
#: A demo on a warm cache takes a minute or two; a machine that does ten things at a time needs many.
DEMO_SECONDS = 1800

Command = Callable[..., subprocess.CompletedProcess[str]]


def port_base() -> int:
    """Return the first port of the labs of these tests, of which only one runs at a time."""
    return free_ports.port_base(_PORT_BASES, setting="KAFKA_DR_TEST_E2E_PORT_BASE")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Lab]:
    """A lab that does not run yet, and of which nothing is left afterwards."""
    lab = Lab(tmp_path / "lab", port_base=port_base())
    try:
        yield lab
    finally:
        lab.down(delete=True)


@pytest.fixture
def lab_command(place: Lab) -> Command:
    """The lab's command line, as a person calls it."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        where = ["--home", str(place.home.root), "--port-base", str(place.settings.port_base)]
        return subprocess.run(
            [sys.executable, str(PROJECT / "include" / "lab"), *arguments, *where],
            capture_output=True,
            text=True,
            timeout=DEMO_SECONDS,
            check=False,
        )

    return run
