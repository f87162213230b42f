"""A lab of the lab's own tests: they kill its processes, so nothing else may depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.api import Lab


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
