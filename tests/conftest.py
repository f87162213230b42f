"""What tests share: one lab of real brokers and Connect for the whole session, and protection groups in it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

# What a failed assertion of theirs compared is shown, as in a test. It has to be said before they are imported.
pytest.register_assert_rewrite("support")

from support import free_ports  # noqa: E402
from support.run_end import RUNNING_LAB, pytest_configure, pytest_unconfigure  # noqa: E402, F401 - hooks of this file

#: Hooks of their own, next to those of this file.
pytest_plugins = ("support.garbage", "support.schedule", "support.sentences", "support.server_errors")

# The fixtures import what they start: tests of rules alone load no Kafka client.
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.api import Lab
    from support.protection import Protection
    from support.two_brokers import TwoBrokers

# No test asserts a time: on a busy machine one example may take longer than Hypothesis allows.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")

#: Not the default ports: tests may run at the same time as a lab that somebody uses, and as other tests.
_PORT_BASES: tuple[int, ...] = (29000, *range(18000, 10000, -1000))
_TWO_BROKERS_FROM = 400
_FORMER_BROKERS_FROM = 600
_NEXT_BROKERS_FROM = 700
#: The version of the brokers that tests share; unless named, that of the lab.
_KAFKA = os.environ.get("KAFKA_DR_TEST_KAFKA")
#: Marks of tests that need a server, and fixtures that start one.
_SERVERS = {"kafka", "spark", "airflow", "lab", "two_brokers", "two_former_brokers", "two_next_brokers"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long versions, too")
    parser.addoption("--quick", action="store_true", help="run only what starts no broker, no Airflow and no Spark")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = set() if config.getoption("--long") else {"long"}
    if config.getoption("--quick"):
        left_out |= _SERVERS
    deselected = [item for item in items if left_out & _needs(item)]
    if deselected:
        items[:] = [item for item in items if not left_out & _needs(item)]
        config.hook.pytest_deselected(items=deselected)


def _needs(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))


#: What ends when the last test of a folder has run. A fixture of the scope "package" would live as long as the session.
_FOLDER_END = ExitStack()


#: The lab that tests share, once it was started here.
_OWN_LABS: list[Lab] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close what belongs to a folder as soon as the next test is one of another folder.

    That one gets a lab as if it were new: with what sixty groups leave there, each switch is a quarter more work.
    """
    yield
    if nextitem is None or nextitem.path.parent != item.path.parent:
        _FOLDER_END.close()
        if nextitem is not None and "lab" in item.fixturenames:  # type: ignore[attr-defined]
            from support.swept import sweep

            for lab in _OWN_LABS:
                sweep(lab)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Close it before the fixtures of the session, also where a run ends in the middle of a folder."""
    _FOLDER_END.close()


@pytest.fixture(scope="session")
def folder_end() -> ExitStack:
    """What is put on this stack ends with the tests of the folder; all of these run one after the other."""
    return _FOLDER_END


@pytest.fixture(scope="session")
def port_base() -> int:
    """The first of 800 ports that nobody listens on. ``KAFKA_DR_TEST_PORT_BASE`` chooses those of the first worker."""
    chosen = os.environ.get("KAFKA_DR_TEST_PORT_BASE")
    if chosen:
        return int(chosen) + 1000 * free_ports.worker()
    return free_ports.port_base(_PORT_BASES)


@pytest.fixture(scope="session")
def own_port_base() -> int:
    """The first of 800 ports below those of the shared lab that nobody listens on, for a lab of a folder's own."""
    below = int(os.environ.get("KAFKA_DR_TEST_PORT_BASE", "29000"))
    return free_ports.port_base(range(below - 1000, 10000, -1000))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[Lab]:
    """Two datacenters with brokers and Connect, without Airflow; shared, so a test touches its own names only.

    ``KAFKA_DR_TEST_LAB`` names the folder of a running lab to use instead; that one is left as it is.
    """
    from lab.api import Lab

    running = os.environ.get(RUNNING_LAB)
    if running:
        yield Lab(Path(running))
        return
    # These tests log in thousands of times. Those of tests/e2e and tests/integration/lab do it by SCRAM.
    started = Lab(tmp_path_factory.mktemp("lab"), port_base=port_base, mechanism="PLAIN", kafka=_KAFKA)
    try:
        started.up(airflow=False)
        _OWN_LABS.append(started)
        # What belongs to a folder needs the lab to end, and after the very last test fixtures of the session end first.
        with _FOLDER_END:
            yield started
    finally:
        started.down(delete=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark session as the jobs have it, with the Kafka source, on two cores; shared, so nobody stops it."""
    from jobs.session import spark_session
    from lab.api import Lab

    environ = Lab(tmp_path_factory.mktemp("spark")).spark_environ()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            if name.startswith(("JAVA", "SPARK", "PYSPARK")):
                patch.setenv(name, value)
        settings = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"}
        with spark_session("tests", settings=settings) as session:
            yield session


@pytest.fixture(autouse=True)
def _loggers_of_ours_work(request: pytest.FixtureRequest) -> None:
    """Airflow's logging, which some tests set up in this process, disables every logger that was there before."""
    if "caplog" in request.fixturenames:
        for name, logger in logging.root.manager.loggerDict.items():
            if name.startswith("kafka_dr") and isinstance(logger, logging.Logger):
                logger.disabled = False


@pytest.fixture(scope="session")
def two_brokers(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[TwoBrokers]:
    """One cluster of two brokers, for what each broker decides by itself."""
    yield from _two_brokers(tmp_path_factory, port_base + _TWO_BROKERS_FROM, _KAFKA)


@pytest.fixture(scope="session")
def two_former_brokers(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[TwoBrokers]:
    """The same of Kafka 3.9."""
    yield from _two_brokers(tmp_path_factory, port_base + _FORMER_BROKERS_FROM, "3.9.1")


@pytest.fixture(scope="session")
def two_next_brokers(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[TwoBrokers]:
    """The same of Kafka 4.4."""
    yield from _two_brokers(tmp_path_factory, port_base + _NEXT_BROKERS_FROM, "4.4.0")


@pytest.fixture(
    params=[
        "two_brokers",
        *(pytest.param(f"two_{each}_brokers", marks=pytest.mark.long) for each in ("former", "next")),
    ]
)
def brokers(request: pytest.FixtureRequest) -> TwoBrokers:
    """Two brokers of the lab's Kafka, of 3.9 and of 4.4."""
    found: TwoBrokers = request.getfixturevalue(request.param)
    return found


def _two_brokers(folders: pytest.TempPathFactory, port_base: int, kafka: str | None) -> Iterator[TwoBrokers]:
    from support.two_brokers import TwoBrokers

    cluster = TwoBrokers.prepare(folders.mktemp("two-brokers"), port_base=port_base, kafka=kafka)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def protection(tmp_path: Path, lab: Lab) -> Iterator[Protection]:
    """A protection group of the test's own, with its rights and topics on both clusters; not adopted yet."""
    from support.protection import Protection

    made = Protection(lab, tmp_path)
    made.create()
    try:
        yield made
    finally:
        made.delete_flows()
