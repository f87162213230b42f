"""Every page in the dark, in the light and on paper: each text and drawing has the contrast that people need."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.evidence.audit_view import build_audit_view
from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.page import render_audit, render_observation, render_page, render_question, with_way_back
from kafka_dr.evidence.question_view import AnswerForm, build_question_view
from kafka_dr.evidence.run_view import build_run_view
from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr.watch_results import WATCHES, FiguresOverTime, WatchResultStore
from support.browser import Page
from support.contrast import SHOWN_ON, hard_to_see, shown_on
from support.kept_metrics import keep, kept
from support.kept_situations import RUN, keep_situation
from support.served_pages import opened
from support.situation_cases import CASES, MOST_KINDS

ASKED = json.loads((Path(__file__).parents[1] / "evidence" / "asked_questions.json").read_text("utf-8"))
OUTCOMES = ("ok", "failed", "unknown", "warning", "overridden", "excused", "left_alone")


def badly_seen(page: Page) -> list[tuple[str, str]]:
    """Return what is hard to see of the page that is open, and where."""
    page.unfold()
    found = []
    for medium in SHOWN_ON:
        with shown_on(page, medium):
            found += [(medium, each) for each in hard_to_see(page)]
    return found


@pytest.mark.parametrize(
    "name", [name if name in MOST_KINDS else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_a_situation_is_read_in_the_dark_and_on_paper(root: Path, base: str, page: Page, name: str) -> None:
    keep_situation(root, name, datetime.now(UTC))
    found = {}
    for address in ("status?reload=false", "groups/orders", f"evidence/orders/{RUN}"):
        opened(page, f"{base}/kafka-dr/{address}")
        found[address] = badly_seen(page)
    assert {address: low for address, low in found.items() if low} == {}


def test_plots_forms_and_results_are_read_in_the_dark_and_on_paper(root: Path, base: str, page: Page) -> None:
    keep(root)
    FiguresOverTime(root, "readiness").add(datetime.now(UTC), {"orders": {"planned_failover": 90}}, declared=["orders"])
    now = datetime.now(UTC)
    for number, outcome in enumerate(OUTCOMES):
        at = now - timedelta(hours=len(OUTCOMES) - number)
        looked: Any = kept("orders", "lag", outcome=outcome, looked_at=at)
        WatchResultStore(root).keep(looked)
    addresses = ["groups/orders", "evidence/orders/no-such-run"]
    addresses += [f"results/orders/{watch}" for watch in WATCHES] + [f"start/{dag_id}/orders" for dag_id in FORMS]
    found = {}
    for address in addresses:
        opened(page, f"{base}/kafka-dr/{address}")
        found[address] = badly_seen(page)
    assert {address: low for address, low in found.items() if low} == {}
    opened(page, f"{base}/kafka-dr/groups/orders")
    assert page.ask("document.querySelectorAll('svg polyline').length") > 2
    assert page.ask("new Set([...document.querySelectorAll('svg.timeline rect')].map(each => each.className)).size") > 0


def a_run() -> str:
    """Return the page of a run with everything that such a page can have."""
    now = datetime.now(UTC).isoformat()
    rows = [{"name": each, "outcome": each, "detail": "it was seen", "facts": {"a": 1}} for each in OUTCOMES]
    answer = {"approved": True, "responder": "alice", "responded_at": now, "digest": "a" * 64}
    difference = [{"verdict": "safe", "what": "x", "standby": "1", "active": "2", "reason": "why", "blocks": True}]
    facts = {
        "verb": "planned_failover",
        "answer": answer,
        "rto_seconds": 70.0,
        "write_outage_seconds": 2.0,
        "objectives": [{"name": each, "objective": 60} for each in ("rto_seconds", "write_outage_seconds")],
        "difference": difference,
        "groups": [{"group": "a", "topic": "t", "class": each} for each in ("exact", "bounded", "unknown")],
        "access": [{"sentence": "x", each: True} for each in ("mended", "lost", "kept")],
    }
    step = {"started_at": now, "finished_at": now, "seconds": 1.25, "facts": facts, "checks": rows, "proofs": rows}
    ended = {"approval": "done", "claim": "would_do", "fence": "failed", "plan": "done", "report": "unknown"}
    stored = {
        f"{number:02}-{name}.1.json": json.dumps({**step, "outcome": outcome, "intent": ["write"]}).encode()
        for number, (name, outcome) in enumerate(ended.items(), 1)
    }
    return render_page(build_run_view("orders", "m1", stored), files=(), sealed_at=None)


def a_question(name: str, **form: Any) -> str:
    said = ASKED[name]
    at = datetime.fromisoformat(said["facts"]["asked"]["expires_at"]) - timedelta(minutes=10)
    how = AnswerForm("/api", "/task", "i", "/run", "/dialog", said["facts"]["approvers"][0]["name"], True, **form)
    return render_question(build_question_view("orders", said, how, at), "nonce")


def an_observation() -> str:
    rows = [{"topic": "t", "partition": 0, "verdict": each, "read": 1, "lost": 1} for each in OUTCOMES]
    return render_observation(build_observation_view({"verdict": "failed", "sentence": "It. Is.", "partitions": rows}))


def an_audit() -> str:
    rows = [{"group": "g", "verdict": each, "records": 1} for each in ("OK", "STOP", "STALL", "UNKNOWN", "WARNING")]
    return render_audit(build_audit_view("lag", "orders", {"verdict": "findings", "sentence": "It.", "groups": rows}))


@pytest.mark.parametrize(
    "html",
    [a_run(), an_observation(), an_audit(), *map(a_question, ASKED), a_question("planned", answered="bob said no")],
    ids=["run", "observation", "audit", *ASKED, "answered"],
)
def test_a_page_of_evidence_is_read_in_the_dark_and_on_paper(page: Page, html: str) -> None:
    page.show(with_way_back(html, [("DR status", "/"), ("Everything of orders", "/")]))
    page.wait("document.querySelector('main')")
    assert badly_seen(page) == []


@pytest.mark.parametrize(
    ("style", "found"),
    [
        ("color: #767676; background: #fff", {}),
        ("color: #777; background: #fff", {"light", "dark", "paper", "paper, of a dark screen"}),
        ("color: #fff; background: #000", {"paper", "paper, of a dark screen"}),
        ("color: #fff; background: #000; print-color-adjust: exact", {}),
        ("color: #ccc; background: #1114", {"light", "dark", "paper", "paper, of a dark screen"}),
    ],
)
def test_what_is_hard_to_see_is_found(page: Page, style: str, found: set[str]) -> None:
    page.show(f'<body style="background: #fff"><main><p style="{style}">said</p></main></body>')
    assert {medium for medium, _ in badly_seen(page)} == set(found)
