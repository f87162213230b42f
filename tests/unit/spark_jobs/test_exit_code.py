from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from jobs.session import exit_code
from kafka_dr.errors import Refused


def test_what_a_job_finds_is_its_exit_code() -> None:
    assert [exit_code(lambda code=code: code) for code in (0, 1)] == [0, 1]  # type: ignore[misc]


def test_a_job_that_is_refused_says_why_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> int:
        raise Refused("there is no such flow: name another")

    assert exit_code(refused) == 2
    assert capsys.readouterr().err == "unknown: there is no such flow: name another\n"


def test_a_file_that_cannot_be_touched_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def unreadable() -> int:
        raise PermissionError(13, "Permission denied", "/out/report.json")

    assert exit_code(unreadable) == 2
    assert capsys.readouterr().err == "unknown: /out/report.json: this process has no right to do that\n"


def test_a_mistake_of_ours_is_seen_whole_and_is_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> int:
        raise OSError("no file was meant")

    assert exit_code(broken) == 2
    said = capsys.readouterr().err
    assert "in broken" in said
    assert said.endswith("unknown: no file was meant\n")


def test_what_spark_complains_about_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> int:
        raise PySparkException("the column is not there\n'Project ['nothing]")

    assert exit_code(failing) == 2
    assert capsys.readouterr().err == "unknown: Spark could not finish: the column is not there\n"
