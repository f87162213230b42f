"""How a task shows the result of a step."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_dr.errors import KafkaDrError, NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr.outcomes import Check
from kafka_dr.runs.record import StepRecord
from kafka_dr_airflow.links import audit_url, evidence_url
from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.operators.receipt import perform, run_request, show


@pytest.mark.parametrize("error", [TryAgain, OutcomeUnknown])
def test_what_may_succeed_later_is_left_to_retries(error: type[KafkaDrError]) -> None:
    with pytest.raises(AirflowException, match=r"^the sentence$") as raised, plain_errors():
        raise error("the sentence")
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("error", [Refused, NeedsPerson, KafkaDrError])
def test_what_cannot_succeed_later_is_not_tried_again(error: type[KafkaDrError]) -> None:
    with pytest.raises(AirflowFailException, match=r"^the sentence$"), plain_errors():
        raise error("the sentence")


def test_what_was_asked_for_is_read_from_the_runs_parameters() -> None:
    params = {"protection_group": "orders", "source": "east", "target": None, "dry_run": True, "reason": "drill"}
    request = run_request({"params": params, "run_id": "r1"}, "planned_failover")
    assert (request.protection_group, request.source, request.target) == ("orders", "east", None)
    assert (request.run, request.dry_run, request.reason) == ("r1", True, "drill")


@pytest.mark.parametrize("written", ["2026-11-27T04:03:00Z", "2026-11-27T05:03:00+01:00", "2026-11-27T04:03:00.000Z"])
def test_the_time_of_a_form_is_read_in_utc(written: str) -> None:
    params = {"protection_group": "orders", "begin_at": written, "begin_positions": "all"}
    request = run_request({"params": params, "run_id": "r1"}, "planned_failover")
    assert (request.begin_at, request.begin_positions) == (datetime(2026, 11, 27, 4, 3, tzinfo=UTC), "all")
    assert request.begin_at is not None
    assert request.begin_at.tzinfo is UTC


def test_a_time_that_no_calendar_has_ends_the_run_with_a_sentence() -> None:
    with pytest.raises(AirflowFailException, match="2026-13-27T04:03:00Z is no time"):
        run_request(
            {"params": {"protection_group": "orders", "begin_at": "2026-13-27T04:03:00Z"}, "run_id": "r"}, "drill"
        )


def test_an_empty_cluster_in_a_free_text_form_is_chosen_by_the_register() -> None:
    request = run_request(
        {"params": {"protection_group": "orders", "source": "", "target": ""}, "run_id": "r"}, "drill"
    )
    assert (request.source, request.target) == (None, None)


def test_the_evidence_page_of_a_run_has_an_address_of_its_own() -> None:
    url = evidence_url("orders", "manual__2026-11-20T03:00:00+00:00")
    assert url == "/kafka-dr/evidence/orders/manual__2026-11-20T03%3A00%3A00%2B00%3A00"


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("https://airflow.example/team-a/", "/team-a/kafka-dr"),
        ("http://127.0.0.1:8080", "/kafka-dr"),
        ("", "/kafka-dr"),
    ],
)
def test_evidence_is_below_the_path_that_airflow_has_on_a_shared_host(
    base_url: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    assert evidence_url("orders", "r1") == f"{path}/evidence/orders/r1"
    assert audit_url("audits/orders/lag/r1/report.json") == f"{path}/audits/orders/lag/r1"


class TaskLog:
    """Keeps the level of each line."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def info(self, _template: str, line: str) -> None:
        self.lines.append(("info", line))

    def error(self, _template: str, line: str) -> None:
        self.lines.append(("error", line))


def test_what_made_a_step_fail_is_logged_as_an_error_and_the_rest_is_not() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    checks = (Check("flow_moves", "ok", "it moves"), Check("route_follows", "failed", "the route\nnames west"))
    record = StepRecord("orders", "r1", "preflight", 1, "refused", at, at, 0.5, "route_follows: no.", checks=checks)
    log = TaskLog()
    show(log, record)
    assert log.lines == [
        ("error", "preflight: refused in 0.50 s. route_follows: no."),
        ("info", "  check flow_moves: ok. it moves"),
        ("error", "  check route_follows: failed. the route\\nnames west"),
        ("info", "  evidence: "),
    ]


def test_a_step_that_continued_without_a_proof_is_an_error_in_the_log_of_a_task_that_is_not_red(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at = datetime(2026, 3, 14, tzinfo=UTC)
    record = StepRecord(
        group="orders", run="run-1", step="open_target", number=8, outcome="unproven", started_at=at, finished_at=at,
        seconds=1.0, detail="It is not known whether applications are let in", evidence="e", evidence_sha256="s",
    )  # fmt: skip
    monkeypatch.setattr("kafka_dr_airflow.task_clients.open_clients", nullcontext)

    receipt = perform(logging.getLogger("task"), lambda _: record)

    assert receipt["outcome"] == "unproven"
    errors = [each.message for each in caplog.records if each.levelno == logging.ERROR]
    assert "It is not known whether applications are let in" in errors
