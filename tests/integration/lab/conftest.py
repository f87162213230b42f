"""A lab of the lab's own tests: they kill its processes, so nothing else may depend on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.api import Lab
from support import free_ports


@pytest.fixture(scope="session")
def own_port_base() -> int:
    """The first of 800 ports below those of the shared lab that nobody listens on."""
    below = int(os.environ.get("KAFKA_DR_TEST_PORT_BASE", "29000"))
    return free_ports.port_base(range(below - 1000, 10000, -1000))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, own_port_base: int) -> Iterator[Lab]:
    """Both clusters and Connect. Airflow is in the labs of tests/dags and of the demo."""
    lab = Lab(tmp_path_factory.mktemp("whole") / "home", port_base=own_port_base)
    try:
        lab.up(airflow=False)
        yield lab
    finally:
        lab.down(delete=True)


@pytest.fixture
def unstarted(tmp_path: Path, own_port_base: int) -> Iterator[Lab]:
    """A lab that was never started, on ports of its own."""
    lab = Lab(tmp_path / "home", port_base=own_port_base + 400)
    yield lab
    lab.down(delete=True)
