"""What runs now, on the status page and on the page of the run: the step, since when, which attempt, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafka_dr.evidence.open_run_view import OpenedRuns
from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.run_view import build_run_view, with_running
from kafka_dr.evidence.status_view import StatusView, build_status_view
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.watch_results import WATCHES, KeptResult, OpenRun, RunEnding, RunningStep, WatchName
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import REGISTER
from support.page_links import LINKS

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GATHERS = RunningStep(
    "orders", "m9", "unplanned_failover", "gather_evidence", NOON, NOON, "host:1", dag_id="dr_unplanned_failover"
)
AGAIN = RunningStep(
    "orders",
    "m9",
    "planned_failover",
    "switch",
    NOON,
    NOON,
    "host:2",
    holds=True,
    attempt=2,
    before="fence source stopped without recording a result",
    says="the register that decides does not answer: it is read again",
)


def page(
    running: RunningStep, *, after: float = 39, seen: float = 35, open_run: OpenRun | None = None, ended: Any = ()
) -> StatusView:
    now = NOON + timedelta(seconds=after)
    shown = replace(running, seen_at=NOON + timedelta(seconds=seen))
    results: dict[WatchName, Any] = {
        name: KeptResult("orders", name, "ok", ("all is good",), NOON, run="s1", facts={**REGISTER, "half_moved": ""})
        for name in WATCHES
    }
    opened = OpenedRuns(((open_run, ()),) if open_run else (), running=((shown, ()),))
    return build_status_view([watched_group("orders", results, now)], now, LINKS, {"orders": ended}, opened)


def test_the_first_step_of_a_run_is_shown_while_it_runs() -> None:
    (line,) = page(GATHERS).open_runs
    assert (line.word, line.colour, line.run) == ("RUNNING", "warn", "m9")
    assert line.said == "Unplanned failover. Gather evidence, since 12:00:00 UTC (39 s)."
    assert (line.run_href, line.evidence_href) == (
        "/dags/dr_unplanned_failover/runs/m9",
        "/kafka-dr/evidence/orders/m9",
    )
    assert page(GATHERS).refresh_seconds == 5
    assert "The run in Airflow" not in render_status(page(replace(GATHERS, dag_id="")))


def test_a_switch_that_is_tried_again_says_which_attempt_it_is_what_it_waits_for_and_why() -> None:
    asked = OpenRun("orders", "m9", "dr_planned_failover", "Move it?", ("alice",), NOON, NOON, answered_by="alice")
    (line,) = page(AGAIN, open_run=asked).open_runs
    assert line.steps[-1].said == (
        "Switch, since 12:00:00 UTC (39 s), attempt 2. The register that decides does not answer: it is read again. "
        "The attempt before: fence source stopped without recording a result"
    )
    assert (line.word, line.colour) == ("RUNNING", "warn")


def test_a_process_that_shows_no_life_is_red_and_its_group_half_moved_until_health_has_looked() -> None:
    dead = page(AGAIN, after=90, seen=40)
    assert (dead.open_runs[0].word, dead.open_runs[0].colour) == ("NO SIGN OF LIFE", "bad")
    assert dead.verdict.startswith("HALF MOVED: orders")
    assert "has shown no sign of life for 50 s" in dead.cards[0].half_moved
    before = page(GATHERS, after=90, seen=40)
    assert (before.open_runs[0].colour, before.cards[0].half_moved) == ("bad", ""), "it holds nothing yet"
    assert page(AGAIN, after=90, seen=85).cards[0].half_moved == ""


def test_a_run_that_is_listed_as_ended_does_not_run_any_more() -> None:
    listed = (RunEnding("m9", "dr_unplanned_failover", "REFUSED", False, NOON + timedelta(seconds=30)),)
    assert page(GATHERS, ended=listed).open_runs == ()


def test_the_page_of_a_run_says_what_it_executes_also_before_it_has_evidence(tmp_path: Path) -> None:
    store, now = EvidenceStore(tmp_path), NOON + timedelta(seconds=39)
    assert store.page("orders", "m9") is None
    shown = store.page("orders", "m9", running=GATHERS, now=now)
    assert shown is not None
    assert "Running: Gather evidence, since 12:00:00 UTC (39 s)." in shown
    view = build_run_view("orders", "m9", {})
    assert with_running(view, GATHERS, now).verdict == "Running: gather evidence"
    dead = with_running(view, AGAIN, NOON + timedelta(seconds=60))
    assert (dead.verdict, dead.colour) == ("Half moved: no process continues it since switch", "bad")
    half = store.page("orders", "m9", running=AGAIN, now=now, half_moved="orders is half moved: check east")
    assert half is not None
    assert half.index("Half moved: a person is needed now") < half.index("orders is half moved: check east")


def test_a_drill_that_has_ended_is_on_its_card_and_no_open_run() -> None:
    result = {"id": "20260301120000", "kind": "planned", "passed": True, "died": False, "why": ""}
    times = {"ended_at": NOON.isoformat(), "rto_seconds": 8.0, "rto_objective": 60.0}
    drill = replace(GATHERS, run="20260301120000", verb="drill", step="teardown", ended_at=NOON, good=True)
    ended = page(replace(drill, result={**result, **times}))
    assert ended.open_runs == ()
    assert (ended.cards[0].drill.word, ended.cards[0].drill.colour) == ("PASSED", "good")
    assert [each.word for each in page(drill).open_runs] == ["RUNNING"], "until its result is kept"
