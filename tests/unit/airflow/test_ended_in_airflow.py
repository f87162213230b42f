"""A run that a person ended in Airflow is on every page as what it is, and within a minute everywhere else."""

from __future__ import annotations

import html
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.watch_results import OpenRun, OpenRuns, RunEndings, RunningStep, RunningSteps
from kafka_dr_airflow.operators import health_round, open_runs
from kafka_dr_airflow.operators.health_round import HealthRound
from kafka_dr_airflow.operators.open_runs import list_ended_runs
from kafka_dr_airflow.operators.rounds import RoundOperator
from support.kept_metrics import keep

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

DAG = "dr_planned_failover"
LOG = logging.getLogger(__name__)


def asked(run: str, **changed: Any) -> OpenRun:
    now = datetime.now(UTC)
    return OpenRun("orders", run, DAG, "Move orders?", ("alice",), now, now + timedelta(hours=12), **changed)


def step(run: str, **changed: Any) -> RunningStep:
    known: dict[str, Any] = {"dag_id": DAG, **changed}
    now = datetime.now(UTC)
    return RunningStep("orders", run, "planned_failover", "preflight", now, now, "worker", **known)


@pytest.fixture(autouse=True)
def ended(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the runs that Airflow says have ended."""
    known = {"gone"}
    monkeypatch.setattr(open_runs, "has_ended", lambda dag_id, run: dag_id == DAG and run in known)
    return known


def open_names(root: Path) -> set[str]:
    now = datetime.now(UTC)
    waiting, running = OpenRuns(root).read(now)[0], RunningSteps(root).read(now)[0]
    return {each.run for each in waiting} | {each.run for each in running}


def notes(root: Path) -> dict[str, str]:
    return {each.run: each.note for each in RunEndings(root).read("orders")}


def test_a_question_of_a_run_that_was_ended_waits_for_nobody(root: Path, pages: TestClient) -> None:
    OpenRuns(root).ask(asked("gone"))
    OpenRuns(root).ask(asked("here"))
    list_ended_runs(LOG)
    assert open_names(root) == {"here"}
    said = (
        "ENDED IN AIRFLOW while it waited for an answer: nothing was changed, and nothing has to be cleared. A new run "
        "begins again"
    )
    assert notes(root) == {"gone": said}
    shown = html.unescape(pages.get("/status").text)
    assert "ENDED IN AIRFLOW</span> while it waited for an answer: nothing was changed" in shown
    assert shown.count("<summary>") > shown.count('<summary><span class="badge bad">WAITS FOR YOU</span>') == 1


@pytest.mark.parametrize("address", ["/status", "/groups/orders", "/evidence/orders/gone", f"/start/{DAG}/orders"])
def test_no_page_waits_for_health_to_say_that_a_run_was_ended(
    root: Path, pages: TestClient, ended_runs: set[str], address: str
) -> None:
    keep(root)
    OpenRuns(root).ask(asked("gone"))
    RunningSteps(root).write(step("gone"))
    waiting = html.unescape(pages.get(address).text)
    ended_runs.add("gone")
    shown = html.unescape(pages.get(address).text)
    open_words = ("WAITS FOR YOU", "alice may answer")
    assert any(words in waiting for words in open_words)
    assert [words for words in open_words if words in shown] == []
    if not address.startswith("/start"):
        assert "while it waited for an answer: nothing was changed" in shown
    # A page changes nothing: health lists the run for everybody else.
    assert (open_names(root), notes(root)) == ({"gone"}, {})


def test_the_page_of_a_run_with_evidence_says_that_it_was_ended_and_not_that_it_has_not_finished(
    root: Path, pages: TestClient, ended_runs: set[str]
) -> None:
    keep(root)
    OpenRuns(root).ask(asked("gone"))
    folder = root / "runs" / "orders" / "gone"
    folder.mkdir(parents=True)
    facts = {"verb": "planned_failover", "source": "east", "target": "west"}
    said = {"group": "orders", "run": "gone", "outcome": "done", "seconds": 1.0, "facts": facts, "proofs": []}
    times = {"started_at": "2026-11-27T14:00:00Z", "finished_at": "2026-11-27T14:00:01Z"}
    (folder / "01-preflight.1.json").write_text(json.dumps({**said, **times, "step": "preflight"}))
    ended_runs.add("gone")
    shown = html.unescape(pages.get("/evidence/orders/gone").text)
    assert "ENDED IN AIRFLOW while it waited for an answer" in shown
    assert "Nothing was changed, and nothing has to be cleared." in shown
    assert "Not finished" not in shown


def test_on_no_page_a_run_that_may_hold_its_group_is_over_because_it_was_ended(
    root: Path, pages: TestClient, ended_runs: set[str]
) -> None:
    keep(root)
    RunningSteps(root).write(replace(step("gone", holds=True), seen_at=datetime.now(UTC)))
    ended_runs.add("gone")
    for address in ("/status", "/groups/orders"):
        shown = pages.get(address).text
        assert ("RUNNING" in shown, "ENDED IN AIRFLOW" in shown) == (True, False), address


def test_a_first_step_that_was_ended_no_longer_runs(root: Path) -> None:
    RunningSteps(root).write(step("gone"))
    RunningSteps(root).write(step("here"))
    list_ended_runs(LOG)
    assert open_names(root) == {"here"}
    assert notes(root)["gone"].startswith("ENDED IN AIRFLOW during preflight: nothing was changed")


def test_after_an_answer_nobody_says_that_nothing_was_changed(root: Path) -> None:
    OpenRuns(root).ask(asked("gone", answered_by="alice"))
    list_ended_runs(LOG)
    assert open_names(root) == set()
    assert notes(root)["gone"].startswith("ENDED IN AIRFLOW after alice had answered: ")
    assert "nothing was changed" not in notes(root)["gone"]


def test_a_run_that_may_hold_its_group_stays_for_health_to_judge(root: Path) -> None:
    OpenRuns(root).ask(asked("gone", answered_by="alice"))
    RunningSteps(root).write(step("gone", holds=True))
    list_ended_runs(LOG)
    assert (open_names(root), notes(root)) == ({"gone"}, {})


def test_a_run_of_the_command_line_is_none_that_airflow_could_end(root: Path) -> None:
    RunningSteps(root).write(step("gone", dag_id=""))
    list_ended_runs(LOG)
    assert (open_names(root), notes(root)) == ({"gone"}, {})


def test_each_round_of_health_asks_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(health_round, "list_ended_runs", lambda _: done.append("asked"))
    monkeypatch.setattr(health_round, "results_of", lambda *_: {})

    def look(*_: object, **__: object) -> dict[str, object]:
        done.append("looked")
        return {}

    monkeypatch.setattr(RoundOperator, "looked_and_kept", look)
    monkeypatch.setattr(HealthRound, "_judge", lambda *_: ("orders",))
    topology: Any = None
    HealthRound().looked_and_kept(topology, [], {})
    assert done == ["asked", "looked"]


def run_page(
    root: Path, pages: TestClient, *steps: str, ago: float = 200, verb: str = "planned_failover", expired: float = 0
) -> str:
    """Keep these steps of a run, each of them ended, and return its page.

    :param expired: for how many seconds the question of the last step has expired; 0: it asked none
    """
    folder = root / "runs" / "orders" / "r1"
    folder.mkdir(parents=True, exist_ok=True)
    at = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    facts = {"verb": verb, "source": "east", "target": "west"}
    said = {"outcome": "ok", "seconds": 1.0, "facts": facts, "started_at": at, "finished_at": at}
    for number, step in enumerate(steps, 1):
        until = (datetime.now(UTC) - timedelta(seconds=expired)).isoformat()
        of_question = {"asked": {"expires_at": until}} if expired and number == len(steps) else {}
        kept = {**said, "step": step, "facts": {**facts, **of_question}}
        (folder / f"{number:02}-{step}.1.json").write_text(json.dumps(kept))
    return html.unescape(pages.get("/evidence/orders/r1").text)


AGAIN = '<meta http-equiv="refresh" content="5">'


@pytest.mark.parametrize(
    ("verb", "steps", "following"),
    [
        ("planned_failover", ("preflight", "approval"), "claim"),
        ("planned_failover", ("preflight",), "approval"),
        ("unplanned_failover", ("gather_evidence", "approval"), "second approval or claim"),
        ("failback", ("preflight", "approval", "second_approval"), "claim"),
        ("take_over", ("preflight", "approval"), "claim"),
        ("un_adopt", ("preflight", "approval", "claim"), "stop flow"),
    ],
)
def test_between_two_steps_the_page_of_a_run_says_what_comes_next_and_loads_again(
    root: Path, pages: TestClient, verb: str, steps: tuple[str, ...], following: str
) -> None:
    """Nothing is kept of what it executes: its last step ended more than a minute ago, and no process has begun."""
    keep(root)
    OpenRuns(root).ask(asked("r1", answered_by="alice"))
    shown = run_page(root, pages, *steps, verb=verb)
    assert f"Running: next is {following}</span>" in shown
    assert f"No step runs: {steps[-1].replace('_', ' ')} ended " in shown
    assert "Not finished" not in shown
    assert AGAIN in shown


def test_a_run_that_is_over_or_long_silent_does_not_load_again(
    root: Path, pages: TestClient, ended_runs: set[str]
) -> None:
    keep(root)
    assert AGAIN in run_page(root, pages, "preflight", "approval"), "no list knows it, and it may continue"
    assert AGAIN not in html.unescape(pages.get("/evidence/orders/r1?reload=false").text)
    long_ago = run_page(root, pages, "preflight", "approval", ago=2 * 86400)
    assert ("Not finished: the last step recorded is approval" in long_ago, AGAIN in long_ago) == (True, False)
    run_page(root, pages, "preflight", "approval")
    OpenRuns(root).ask(asked("r1", answered_by="alice"))
    ended_runs.add("r1")
    over = html.unescape(pages.get("/evidence/orders/r1").text)
    assert (AGAIN in over, "Running" in over) == (False, False)


@pytest.mark.parametrize(
    ("verb", "steps", "form"),
    [
        ("planned_failover", ("preflight", "approval"), "/start/dr_planned_failover/orders"),
        ("unplanned_failover", ("gather_evidence", "approval"), "/start/dr_unplanned_failover/orders"),
        ("failback", ("preflight", "approval", "second_approval"), "/start/dr_failback/orders"),
        ("un_adopt", ("preflight", "approval"), "/groups/orders"),
    ],
)
@pytest.mark.parametrize("minutes", [1, 11, 60 * 25])
def test_the_page_of_a_question_that_expired_and_that_nothing_ended_leads_to_a_new_run(
    root: Path, pages: TestClient, verb: str, steps: tuple[str, ...], form: str, minutes: float
) -> None:
    """Its line on the status page is forgotten after ten minutes, and the run may have been ended by nobody."""
    keep(root)
    OpenRuns(root).ask(replace(asked("r1"), expires_at=datetime.now(UTC) - timedelta(minutes=minutes)))
    shown = run_page(root, pages, *steps, verb=verb, ago=minutes * 60 + 900, expired=minutes * 60)
    assert ("next is" in shown, "Not finished" in shown, "No step runs" in shown) == (False, False, False)
    assert "Expired: no answer was recorded in time</span>" in shown
    assert "Nothing was changed. Start a new run, which asks again." in shown
    assert f'{form}"><b>Start a new run</b></a>' in shown


def test_a_question_that_is_open_or_answered_has_not_expired(root: Path, pages: TestClient) -> None:
    keep(root)
    assert "Expired" not in run_page(root, pages, "preflight", "approval", expired=-60)
    OpenRuns(root).ask(asked("r1", answered_by="alice"))
    shown = run_page(root, pages, "preflight", "approval", expired=60)
    assert ("next is claim" in shown, "Expired" in shown) == (True, False)
