"""The doctor's job of a second on a real Spark: with its Kafka source, without it, and where there is no Spark."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from kafka_dr.doctor.finding import SetUpFinding
from kafka_dr.doctor.spark_trial import JOB, examine_spark
from kafka_dr.spark_submit import KAFKA_SOURCE
from lab.api import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _sparks_of_a_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in Lab(tmp_path).spark_environ().items():
        monkeypatch.setenv(name, value)


def found() -> SetUpFinding:
    (trial,) = examine_spark()
    return trial


@pytest.mark.long
def test_a_spark_with_its_kafka_source_is_good() -> None:
    trial = found()
    assert trial.outcome == "ok", trial


@pytest.mark.long
def test_without_the_kafka_source_it_is_named_with_the_command_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no jars").mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "no jars"))
    trial = found()
    assert trial.outcome == "failed", trial
    assert "spark-sql-kafka-0-10, has to be on the class path" in trial.detail
    by_hand, downloading = (shlex.split(command) for command in trial.commands)
    assert (Path(by_hand[0]).name, by_hand[-1]) == ("spark-submit", str(JOB))
    assert downloading[1:3] == ["--packages", KAFKA_SOURCE]


def test_a_machine_without_spark_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    trial = found()
    assert trial.outcome == "unknown"
    assert "--without spark" in trial.detail
