"""Which worker of a whole run gets which tests, and the times of the workers at its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pytest

#: Tests whose names begin so run one after the other in one worker: they share Spark's session, a lab or its ports.
#: Spark is started in two workers and no third: who needs it is one of those that audit, or that come after a disaster.
_TOGETHER: Mapping[str, str] = {
    "tests/dags/": "airflow",
    "tests/integration/active_active/test_conflicts": "spark",
    "tests/integration/active_active/test_lost_member": "spark",
    "tests/integration/adoption/": "spark",
    "tests/integration/audit/": "spark",
    "tests/integration/lag/": "spark",
    "tests/integration/replication/test_another_replicator": "spark",
    "tests/spark/": "spark",
    "tests/e2e/test_disasters": "disasters",
    "tests/integration/drill/": "disasters",
    "tests/integration/failback/": "disasters",
    "tests/integration/names/": "disasters",
    "tests/e2e/": "demos",
    "tests/integration/lab/": "labs",
    "tests/integration/clusters/test_leaders": "two brokers",
    "tests/integration/fencing/": "two brokers",
    "tests/integration/config_sync/": "config sync",
    "tests/integration/unusable_register/": "pairs",
    "tests/unit/airflow/test_in_browser": "pages",
}
#: The order in which free workers get them: scopes, and folders whose files go to any worker. What takes longest is
#: first, and files of unit tests fill the gaps at the end. A worker that has left a folder gets no file of it again:
#: what the tests of a folder share ends with the last of them in a worker.
_ORDER = (
    "airflow",
    "disasters",
    "spark",
    "pages",
    "tests/integration/failover",
    "demos",
    "labs",
    "tests/integration/unplanned",
    "pairs",
    "tests/integration/offsets",
    "config sync",
    "two brokers",
    "tests/integration",
    "tests/contract",
)
#: The longest files of their folders, which begin before the others.
_LONG_FILES = (
    "test_without_airflow.py",
    "test_interrupted_runs.py",
    "test_roll_back.py",
    "test_interrupted.py",
    "test_taken_over.py",
    "test_source_readable.py",
    "test_preview.py",
    "test_watching.py",
    "test_leftovers.py",
    "test_round.py",
    "test_search.py",
    "test_gate.py",
)
#: What is shown of a worker takes at least this many seconds.
_SHOWN_SECONDS = 10.0


def scope(nodeid: str) -> str:
    """Return what a test belongs to: all of that runs in one worker."""
    file = nodeid.partition("::")[0]
    return next((together for beginning, together in _TOGETHER.items() if file.startswith(beginning)), file)


def turn(nodeid: str) -> tuple[int, int, str]:
    """Return a sort key of a test: the order in which scopes are given to workers that are free."""
    found = scope(nodeid)
    rank = next((number for number, name in enumerate(_ORDER) if f"{found}/".startswith(f"{name}/")), len(_ORDER))
    file = PurePath(nodeid.partition("::")[0]).name
    return rank, _LONG_FILES.index(file) if file in _LONG_FILES else len(_LONG_FILES), found


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep tests that share something on one worker; all others go wherever there is room."""
    from xdist.scheduler import LoadScopeScheduling

    class ByLab(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    # By default those of the most tests would be first, and the longest ones last.
    config.option.loadscopereorder = False
    return ByLab(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order of their turns; those of one file stay as they are."""
    items.sort(key=lambda item: turn(item.nodeid))


@dataclass(slots=True)
class ScopeTimes:
    """When a worker was busy with a scope, in seconds since the run began.

    :param busy: seconds in tests, their setup and their teardown
    """

    scope: str
    begin: float
    end: float
    busy: float = 0.0

    def __str__(self) -> str:
        return f"{_clock(self.begin)} to {_clock(self.end)} {self.busy:5.0f} s  {self.scope}"


class WorkerTimes:
    """Collects what each worker did when: whoever looks for minutes sees which worker had nothing to do."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._of: dict[str, list[ScopeTimes]] = {}

    def add(self, worker: str, scope: str, start: float, stop: float) -> None:
        """Add a phase of a test.

        :param start: seconds since the epoch, as ``stop``
        """
        times = self._of.setdefault(worker, [])
        if not times or times[-1].scope != scope:
            times.append(ScopeTimes(scope, start - self._began, stop - self._began))
        times[-1].end = stop - self._began
        times[-1].busy += stop - start

    def lines(self) -> Iterable[str]:
        """Yield a line for each longer scope of each worker, and one for the end of the worker."""
        for worker, times in sorted(self._of.items()):
            yield from (f"{worker} {each}" for each in times if each.end - each.begin >= _SHOWN_SECONDS)
            yield f"{worker} ended at {_clock(times[-1].end)}, busy for {sum(each.busy for each in times):.0f} s"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:2}:{rest:02}"


def pytest_configure(config: pytest.Config) -> None:
    """Begin to measure in the process that shows the results."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Reports(WorkerTimes(time.time())))


class _Reports:
    """Hooks of the process that shows the results."""

    def __init__(self, times: WorkerTimes) -> None:
        self._times = times

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._times.add(getattr(report, "worker_id", ""), scope(report.nodeid), report.start, report.stop)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("when each worker did what")
        for line in self._times.lines():
            terminalreporter.write_line(line)
