"""Tests that share something get one worker, the longest scopes begin first, and the run shows who was idle when."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from support.schedule import WorkerTimes, scope, turn

TESTS = Path(__file__).parents[2]
FILES = [str(path.relative_to(TESTS.parent)) for path in TESTS.rglob("test_*.py")]


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("tests/dags/test_forms.py::test_a", "tests/dags/test_in_airflow.py::test_b", True),
        ("tests/integration/audit/test_faults.py::test_a", "tests/spark/test_storage.py::test_b[1::2]", True),
        ("tests/e2e/test_demo.py::test_a", "tests/e2e/test_disasters.py::test_b", False),
        ("tests/integration/failover/test_a.py::test_a", "tests/integration/failover/test_a.py::test_b", True),
        ("tests/integration/failover/test_a.py::test_a", "tests/integration/failover/test_b.py::test_b", False),
        ("tests/integration/lab/test_a.py::test_a", "tests/integration/lag/test_b.py::test_b", False),
    ],
)
def test_what_shares_a_lab_of_its_own_is_in_one_scope(first: str, second: str, together: bool) -> None:
    assert (scope(first) == scope(second)) is together


@pytest.mark.parametrize("folder", ["tests/integration/failover", "tests/integration/unplanned", "tests/dags"])
def test_a_worker_that_has_left_a_folder_gets_no_file_of_it_again(folder: str) -> None:
    inside = [str(Path(file).parent) == folder for file in sorted(FILES, key=turn)]
    assert [here for here, _ in groupby(inside)] in ([True, False], [False, True, False])


def test_no_third_worker_starts_spark() -> None:
    """But for those of ``--long`` alone, which is run by two workers."""
    servers = [file for file in FILES if not file.startswith(("tests/unit/", "tests/integration/standbys/"))]
    starting = [file for file in servers if "spark: SparkSession" in (TESTS.parent / file).read_text("utf-8")]
    assert {scope(file) for file in starting} == {"disasters", "spark"}


def test_the_longest_scopes_begin_first_and_unit_tests_fill_the_gaps() -> None:
    scopes = [scope(file) for file in sorted(FILES, key=turn)]
    assert scopes[0] == "airflow"
    at = {each: scopes.index(each) for each in ("disasters", "spark", "pages", "demos", "labs")}
    assert sorted(at, key=lambda each: at[each]) == ["disasters", "spark", "pages", "demos", "labs"]
    first_unit = next(number for number, each in enumerate(scopes) if each.startswith("tests/unit/"))
    assert [each for each in scopes[first_unit:] if not each.startswith(("tests/unit/", "tests/test_"))] == []


def test_the_times_of_a_worker_show_its_longer_scopes_and_when_it_ended() -> None:
    times = WorkerTimes(1000.0)
    times.add("gw1", "airflow", 1001.0, 1061.0)
    times.add("gw0", "spark", 1000.0, 1030.0)
    times.add("gw1", "airflow", 1065.0, 1100.0)
    times.add("gw1", "short", 1100.0, 1101.0)
    assert list(times.lines()) == [
        "gw0  0:00 to  0:30    30 s  spark",
        "gw0 ended at  0:30, busy for 30 s",
        "gw1  0:01 to  1:40    95 s  airflow",
        "gw1 ended at  1:41, busy for 96 s",
    ]
