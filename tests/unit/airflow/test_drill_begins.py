"""A drill that may not begin says why where people look: in the log, on the run, and to who is notified."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr.drill import conduct
from kafka_dr.errors import Refused, TryAgain
from kafka_dr_airflow.operators import drill

WHY = "orders is diverged by run m1 (epoch 1000), and a drill must not be in its way: try again when it is stable"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Return what is written on the run, in its log, and to who is notified."""
    found: list[tuple[str, ...]] = []
    monkeypatch.setattr("kafka_dr_airflow.task_clients.open_clients", nullcontext)
    monkeypatch.setattr(drill, "requester_of", lambda _: "alice")
    monkeypatch.setattr(drill, "leave_note", lambda _log, _context, note: found.append(("note", note)))
    monkeypatch.setattr(drill, "notify_refused", lambda _log, *news: found.append(("news", *news)))
    log = SimpleNamespace(error=lambda form, *values: found.append(("log", form % values)), info=str, warning=str)
    monkeypatch.setattr(drill.DrillBeginOperator, "log", log)
    return found


def begin(group: str) -> None:
    drill.DrillBeginOperator().execute(
        {
            "params": {"protection_group": group, "kind": "planned"},
            "dag_run": SimpleNamespace(run_after=datetime(2026, 3, 1, 12, 0, tzinfo=UTC)),
            "ti": SimpleNamespace(dag_id="dr_drill"),
        }
    )


@pytest.mark.parametrize("kind", [Refused, TryAgain])
def test_a_drill_that_is_refused_says_why_on_the_run_in_the_log_and_to_who_is_notified(
    monkeypatch: pytest.MonkeyPatch, said: list[tuple[str, ...]], kind: type[Exception]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise kind(WHY)

    monkeypatch.setattr(conduct, "begin", refuse)
    with pytest.raises(SystemExit, match="orders is diverged"):
        begin("orders")
    assert [each[0] for each in said] == ["log", "note", "news"]
    assert said[0][1] == WHY, "a whole line: Airflow cuts off what a task exits with"
    assert said[1][1].startswith("NOT BEGUN: orders is diverged")
    assert said[2][1:] == ("dr_drill", "orders", f"NOT BEGUN: {WHY}")


def test_a_look_that_found_no_drill_due_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch, said: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(conduct, "due_drill", lambda _: None)
    with pytest.raises(AirflowSkipException):
        begin("")
    assert said == []
