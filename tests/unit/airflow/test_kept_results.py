"""What a watch's task keeps for the status page, whatever way it ends."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowSkipException, AirflowTaskTimeout
from airflow.sdk.log import mask_secret

from kafka_dr.watch_results import KeptResult, WatchResultStore, read_status
from kafka_dr_airflow.operators.kept_results import LookResult, kept_result

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
CONTEXT = {"run_id": "scheduled__1"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evidence root."""
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(TOPOLOGY))
    monkeypatch.setenv("KAFKA_DR_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_DR_LAB_EAST", "127.0.0.1:1")
    monkeypatch.setenv("KAFKA_DR_LAB_WEST", "127.0.0.1:2")
    monkeypatch.setenv("KAFKA_DR_LAB_VANTAGE", "127.0.0.1:3")
    return tmp_path / "evidence"


def kept(root: Path) -> KeptResult:
    found = WatchResultStore(root).read("orders", "health")
    assert found is not None
    return found


def look(result: LookResult, ending: BaseException | None = None) -> None:
    with kept_result(logging.getLogger(__name__), CONTEXT, group="orders", watch="health") as filled:
        filled.outcome, filled.sentences, filled.facts = result.outcome, result.sentences, result.facts
        if ending is not None:
            raise ending


def test_a_good_look_is_kept_with_its_run_and_facts(root: Path) -> None:
    look(LookResult("ok", ("orders is stable on east",), {"epoch": 3}))
    found = kept(root)
    assert (found.outcome, found.sentences, found.run, dict(found.facts)) == (
        "ok",
        ("orders is stable on east",),
        "scheduled__1",
        {"epoch": 3},
    )


def test_a_red_look_is_kept_as_it_was_found_and_stays_red(root: Path) -> None:
    with pytest.raises(AirflowException):
        look(LookResult("failed", ("a DENY was missing",)), AirflowException("orders: a DENY was missing"))
    assert (kept(root).outcome, kept(root).sentences) == ("failed", ("a DENY was missing",))


def test_a_look_that_could_not_begin_is_unknown_with_its_reason(root: Path) -> None:
    with pytest.raises(AirflowException):
        look(LookResult(), AirflowException("east does not answer"))
    assert (kept(root).outcome, kept(root).sentences) == ("unknown", ("east does not answer",))


def test_an_error_after_a_good_look_is_not_kept_as_good(root: Path) -> None:
    with pytest.raises(AirflowException):
        look(LookResult("ok", ("all is good",)), AirflowException("the report could not be read"))
    assert kept(root).outcome == "unknown"


def test_a_look_that_reached_its_time_limit_is_unknown(root: Path) -> None:
    with pytest.raises(AirflowTaskTimeout):
        look(LookResult(), AirflowTaskTimeout())
    assert kept(root).outcome == "unknown"
    assert "time limit" in kept(root).sentences[0]


def test_a_group_that_was_left_alone_is_kept_as_not_checked(root: Path) -> None:
    with pytest.raises(AirflowSkipException):
        look(LookResult(), AirflowSkipException("orders: a run holds it"))
    assert (kept(root).outcome, kept(root).sentences) == ("left_alone", ("a run holds it",))


def test_no_password_that_airflow_knows_is_kept(root: Path) -> None:
    mask_secret("correct-horse-battery")
    look(LookResult("failed", ("login with correct-horse-battery was refused",)))
    assert kept(root).sentences == ("login with *** was refused",)


def test_a_storage_that_takes_nothing_changes_no_result_and_is_named_in_the_log(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root.write_text("a file instead of a folder")
    look(LookResult("ok", ("all is good",)))
    assert "could not be kept" in caplog.text
    (group,) = read_status(["orders"], WatchResultStore(root), datetime.now(UTC))
    assert group.outcome == "unknown"
