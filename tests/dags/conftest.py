"""The DAG folder as Airflow parses it, with the lab's topology and an Airflow home of the tests' own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page
    from support.fab_lab import FabLab

PROJECT = Path(__file__).resolve().parents[2]
DAGS = PROJECT / "dags"

# Airflow reads its settings when it is first imported, which the test modules do.
_HOME = tempfile.TemporaryDirectory(prefix="kafka-dr-airflow-home-")
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__CORE__PLUGINS_FOLDER"] = str(PROJECT / "plugins")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "WARNING"

#: The protection group of the lab whose Airflow runs.
GROUP = "orders"
_PORT_BASES = (30000, 20000, 19000)

#: What the lab's topology.yaml expects of the environment.
LAB = {
    "KAFKA_DR_TOPOLOGY": str(PROJECT / "include" / "topology.yaml"),
    "KAFKA_DR_LAB_HOME": "/nowhere",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


@pytest.fixture(scope="session")
def dags_folder() -> Path:
    """Return the folder that Airflow parses."""
    return DAGS


@pytest.fixture(scope="session")
def parse() -> Callable[[dict[str, str]], Any]:
    """Return what parses the DAG folder in an environment, as a process does that has just started."""

    def parsed(environ: dict[str, str]) -> Any:
        from airflow.dag_processing.dagbag import DagBag

        from kafka_dr_airflow.trigger_forms import declared

        with pytest.MonkeyPatch.context() as patch:
            for name in LAB:
                patch.delenv(name, raising=False)
            for name, value in environ.items():
                patch.setenv(name, value)
            declared.cache_clear()
            try:
                return DagBag(str(DAGS))
            finally:
                declared.cache_clear()

    return parsed


@pytest.fixture(scope="session")
def lab_environ() -> dict[str, str]:
    """Return an environment in which the lab's topology is readable."""
    return dict(LAB)


@pytest.fixture(scope="session")
def bag(parse: Callable[[dict[str, str]], Any]) -> Any:
    """Return the DAGs with the lab's topology."""
    return parse(LAB)


@pytest.fixture(scope="session")
def planned(bag: Any) -> Any:
    """Return the planned failover."""
    return bag.dags["dr_planned_failover"]


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> QuickLab:
    """A lab with Airflow, its group adopted and replicating; shared by the modules of this folder.

    It runs audits on Spark, so it ends with the tests of this folder. ``KAFKA_DR_TEST_AIRFLOW_LAB`` names the folder of
    a lab to use and to leave running, so that it is started only once.
    """
    from support.airflow_lab import QuickLab

    return _adopted(QuickLab, "KAFKA_DR_TEST_AIRFLOW", tmp_path_factory, folder_end)


@pytest.fixture(scope="module")
def answered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickLab]:
    """The same for answers within seconds, as old as they may be when they are used.

    With ``--long`` it is another one with nothing but Airflow's defaults; ``KAFKA_DR_TEST_UNTUNED_LAB`` names it.
    """
    from support.airflow_lab import UntunedLab

    with ExitStack() as module_end:
        if request.config.getoption("--long"):
            yield _adopted(UntunedLab, "KAFKA_DR_TEST_UNTUNED", tmp_path_factory, module_end)
            return
        shared: QuickLab = request.getfixturevalue("airflow")
        module_end.enter_context(shared.declaring({"approval_expiry_seconds": UntunedLab.expiry_seconds}))
        yield shared


@pytest.fixture(scope="module")
def own_airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickLab]:
    """Another one for a module that leaves it as no other module may find it."""
    from support.airflow_lab import QuickLab

    with ExitStack() as module_end:
        yield _adopted(QuickLab, "KAFKA_DR_TEST_OWN_AIRFLOW", tmp_path_factory, module_end)


@pytest.fixture(scope="module")
def fab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FabLab]:
    """Another one, in whose Airflow people log in by FAB."""
    from support.fab_lab import FabLab

    with ExitStack() as module_end:
        lab = _adopted(FabLab, "KAFKA_DR_TEST_FAB_AIRFLOW", tmp_path_factory, module_end)
        assert isinstance(lab, FabLab)
        yield lab


def _adopted(kind: type[QuickLab], setting: str, folders: pytest.TempPathFactory, end: ExitStack) -> QuickLab:
    """Start a lab with Airflow, adopt its group, and let it replicate.

    :param setting: how the variables begin that name the folder of a lab to use, and its first port
    :param end: ends the lab, unless it was started before
    """
    from support import free_ports
    from support.airflow_lab import AirflowSession

    kept = os.environ.get(f"{setting}_LAB")
    ports = free_ports.port_base(_PORT_BASES, setting=f"{setting}_PORT_BASE")
    folder = Path(kept) if kept else folders.mktemp("airflow-lab")
    # Its tasks log in thousands of times. Airflow in the labs of tests/e2e and tests/integration/lab does it by SCRAM.
    lab = kind(folder, port_base=ports, mechanism="PLAIN")
    if not kept:
        end.callback(lab.down, delete=True)
    lab.up()
    admin = AirflowSession(lab, "admin")
    for dag, conf in (("dr_adopt", {"protection_group": GROUP}), ("dr_flows", {})):
        run = admin.trigger(dag, **conf)
        assert admin.ended(dag, run) == "success", admin.tasks(dag, run)
    return lab


@pytest.fixture
def alice(airflow: QuickLab) -> AirflowSession:
    """An approver."""
    from support.airflow_lab import AirflowSession

    return AirflowSession(airflow, "alice")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> Page:
    """A browser for the modules of this folder."""
    from support.browser import chromium

    return folder_end.enter_context(chromium(tmp_path_factory.mktemp("chromium"), height=1600))


@pytest.fixture(scope="module")
def page(airflow: QuickLab, browser: Page) -> Page:
    """A browser in which an approver is logged in to Airflow."""
    from support.airflow_lab import AirflowSession

    session = AirflowSession(airflow, "alice")
    browser.resize(1200, 1600)
    browser.log_in(str(session.http.base_url), session.token)
    return browser


@pytest.fixture
def unchanged(airflow: QuickLab) -> Iterator[None]:
    """Hold that the test changes nothing in the registers."""
    before = {cluster: airflow.state(cluster, GROUP) for cluster in ("east", "west")}
    yield
    assert {cluster: airflow.state(cluster, GROUP) for cluster in ("east", "west")} == before
