"""An Airflow home of the tests' own, without a database: connections come from the environment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browser import Page, chromium
from support.served_pages import served

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from kafka_dr_airflow.views.kept_pages import AirflowRun

# Airflow reads its settings when it is first imported, which the test modules do.
_HOME = tempfile.TemporaryDirectory(prefix="kafka-dr-airflow-home-")
os.environ.setdefault("AIRFLOW_HOME", _HOME.name)
os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "WARNING")

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evidence root."""
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(TOPOLOGY))
    monkeypatch.setenv("KAFKA_DR_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_DR_LAB_EAST", "127.0.0.1:1")
    monkeypatch.setenv("KAFKA_DR_LAB_WEST", "127.0.0.1:2")
    monkeypatch.setenv("KAFKA_DR_LAB_VANTAGE", "127.0.0.1:3")
    return tmp_path / "evidence"


@pytest.fixture
def ended_runs() -> set[str]:
    """Return the runs that Airflow says have ended; a test may add some."""
    return set()


@pytest.fixture
def started_runs() -> dict[str, AirflowRun]:
    """Return the runs that Airflow's database has; a test may add some."""
    return {}


@pytest.fixture
def pages(root: Path, ended_runs: set[str], started_runs: dict[str, AirflowRun]) -> Iterator[TestClient]:
    """Return who may see the pages; who may, and what Airflow's database says, is shown in a real Airflow."""
    from fastapi.testclient import TestClient

    from kafka_dr_airflow.views import evidence, kept_pages

    allowed = evidence.app.dependency_overrides
    allowed[evidence._MAY_SEE_RUNS.dependency] = lambda: None
    allowed[kept_pages.reader] = lambda: "alice"
    allowed[kept_pages.airflow_says] = lambda: lambda _dag_id, run: run in ended_runs
    allowed[kept_pages.airflow_run] = lambda: lambda _group, run: started_runs.get(run)
    yield TestClient(evidence.app, raise_server_exceptions=True)
    allowed.clear()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield page


@pytest.fixture
def base(pages: TestClient) -> Iterator[str]:
    """Return the address of the pages, served to whoever asks."""
    from kafka_dr_airflow.views import evidence

    with served(evidence.app) as address:
        yield address
