"""The page of a question: what an approver needs, in few words, and nothing that acts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.evidence.page import render_question, with_way_back
from kafka_dr.evidence.question_view import AnswerForm, QuestionView, build_question_view
from kafka_dr.evidence.shown_markdown import shown_markdown
from kafka_dr.failback import question as failback
from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.failover.planned import question as planned
from kafka_dr.failover.unplanned import question as unplanned
from kafka_dr.named_rows import rows_of
from kafka_dr.quoting import code, markdown
from kafka_dr.topology.flow import FlowSpec
from support.browser import Page, button, chromium
from support.visible_text import visible_words

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
#: No text of a library and no id of a run is for people.
LIBRARY = re.compile(r"_[A-Z]{3,}|NoneType|manual__")
FORM = AnswerForm("/api", "/task", "instance", "/run", "/dialog", "alice", True)
PARTITIONS = [{"topic": f"orders.{name}", "partitions": 6} for name in ("payments", "invoices", "refunds")]
#: As the lab's clusters answer, and as a person writes.
CHECKS: list[dict[str, Any]] = [
    {"name": name, "outcome": outcome, "detail": why}
    for name, outcome, why in (
        ("checksum_audit", "excused", "no checksum audit of orders east→west has ever ended: run dr_checksum_audit"),
        ("lag_audit", "excused", "no lag audit of orders east→west has ever ended: run dr_lag_audit"),
        ("source_is_down", "overridden", "this installation alone saw it, and the rule wants two vantages"),
        ("standby_space", "warning", "little space is free on west"),
        ("brokers", "ok", "all of them answer"),
    )
]


def run(verb: str, *, source: str = "east", target: str = "west", **request: Any) -> Any:
    asked = {"reason": "the hall of east is dark since 11:40", "override": "", "dry_run": False, "verb": verb}
    group = SimpleNamespace(name="orders", clusters=("east", "west"), flow=FlowSpec())
    return SimpleNamespace(group=group, source=source, target=target, request=SimpleNamespace(**{**asked, **request}))


def seen(decision: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    return {
        "facts": {"decision": decision, "measurements": measured},
        "checks": [row for row in CHECKS if row["outcome"] != "overridden" or "override" in decision],
        "finished_at": NOON.isoformat(),
    }


def of_planned() -> Sheet:
    found = "2.3 s, the median of earlier failovers: 1.9 to 2.8 s in the newest 5 that count; none took longer"
    groups = [{"group": f"orders-{n}", "class": "bounded", "redelivered_at_most": 12} for n in range(3)]
    measured = {
        "records_not_yet_copied_at_most": 41,
        "predicted_write_outage": {"sentence": found, "median_seconds": 2.3, "lower_bound": False, "runs": 5},
        "groups": groups,
        "objective_write_outage_seconds": 5.0,
    }
    return planned.sheet(run("planned_failover"), seen({"partitions": PARTITIONS, "offset_classes": []}, measured))


def of_unplanned() -> Sheet:
    decision = {"partitions": PARTITIONS, "override": "one vantage is all we have", "taken_from": ""}
    loss = {"at_least_records": 30, "as_of": "2026-11-20T11:39:00+00:00", "reason": "seen"}
    measured = {
        "predicted_loss": {**loss, "not_counted": "records of 2 open transactions"},
        "groups": [{"group": f"orders-{n}", "class": "bounded", "redelivered_at_most": None} for n in range(3)],
        "probes": [{"name": "metadata", "outcome": "failed", "detail": "east does not answer"}],
        "more_than_offsets": ["orders-shared is a share group"],
        "could_not_be_checked": ["open transactions", "the newest offsets"],
    }
    override = {"override": "one vantage is all we have"}
    return unplanned.sheet(run("unplanned_failover", **override), seen(decision, measured))


def of_failback(mode: str = "quarantine") -> Sheet:
    decided = {
        "mode": mode,
        "rescue": "keep",
        "stranded": {"records": 7},
        "deletes": [{"topic": "orders.payments", "topic_id": "id"}],
        "quarantine": ["orders.payments-0 10 to 16"],
    }
    held = {"orders.payments": {"records": 50, "bytes": 5000, "stranded": 7}}
    found = {**seen(decided, {"old_side": rows_of(held, **OLD_TOPICS)}), "checks": CHECKS[3:]}
    return failback.sheet(run("failback", source="west", target="east", reason="east is back"), found)


def view(sheet: Sheet, *, at: datetime = NOON, requester: str = "carol", **form: Any) -> QuestionView:
    asked = {
        "subject": sheet.subject,
        "expires_at": (NOON + timedelta(minutes=15)).isoformat(),
        "sheet": sheet.to_json(),
    }
    people = [{"name": "alice", "id": "1"}, {"name": "bob", "id": "7"}]
    facts = {"asked": asked, "approvers": people, "requested_by": requester}
    kept = {"facts": facts, "started_at": NOON.isoformat()}
    return build_question_view("orders", kept, replace(FORM, **form), at)


def page(sheet: Sheet, **changes: Any) -> str:
    return render_question(view(sheet, **changes), "nonce")


def second(sheet: Sheet) -> Sheet:
    """Return what the second person is asked when the first one wrote nothing."""
    return sheet.second_of_two("bob", NOON, "")


@pytest.mark.parametrize(
    ("sheet", "most"),
    [
        (of_planned(), 120),
        (of_unplanned(), 180),
        (of_unplanned().first_of_two(), 180),
        (second(of_unplanned()), 180),
        (of_failback(), 100),
        (of_failback("rebuild").first_of_two(), 100),
        (second(of_failback("rebuild")), 100),
    ],
)
def test_what_is_decided_on_is_read_in_a_minute(sheet: Sheet, most: int) -> None:
    words = visible_words(with_way_back(page(sheet), [("DR status", "/"), ("Everything of orders", "/")]))
    assert len(words) <= most, " ".join(words)


#: What runs of the demonstration filed when they asked (the sentences are of today), and how many words a person reads.
ASKED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("asked_questions.json").read_text("utf-8"))
MOST = {"planned": 120, "unplanned": 180, "failback": 100, "failback, the second person": 100}


def of_run(name: str, **form: Any) -> str:
    """Return the page of what a run asked, ten minutes before it expires, as it is served."""
    kept = ASKED[name]
    at = datetime.fromisoformat(kept["facts"]["asked"]["expires_at"]) - timedelta(minutes=10)
    reader = kept["facts"]["approvers"][0]["name"]
    shown = render_question(build_question_view("orders", kept, replace(FORM, reader=reader, **form), at), "nonce")
    return with_way_back(shown, [("DR status", "/"), ("Everything of orders", "/")])


@pytest.mark.parametrize("name", MOST)
def test_what_a_real_run_asks_is_read_in_a_minute_on_a_telephone_and_answered_by_keyboard(
    in_chromium: Callable[[str], Page], name: str
) -> None:
    shown = in_chromium(of_run(name))
    shown.resize(390, 844)
    shown.ask("document.querySelectorAll('.skip, .unseen').forEach(each => { each.style.display = 'none' })")
    words = shown.text().split()
    assert len(words) <= MOST[name], " ".join(words)
    assert not LIBRARY.search(shown.text()), shown.text()
    assert ("type orders" in shown.text()) is name.startswith("failback"), "where something is deleted"
    assert ("alice approved it" in shown.text()) is ("second" in name), "the second person reads who was the first"
    shown.unfold()
    assert shown.ask("document.documentElement.scrollWidth") <= 390
    stops = shown.walk()
    assert [stop.name for stop in stops if not stop.shown] == []
    assert {"BUTTON Approve", "BUTTON Reject"} <= {stop.name for stop in stops}


@pytest.mark.parametrize("sheet", [of_planned(), of_unplanned(), of_failback()])
def test_it_answers_in_the_order_in_which_a_person_decides(sheet: Sheet) -> None:
    shown = " ".join(visible_words(page(sheet)))
    order = ["carol asks", "Moves", "Lost", "Writes stop", "Read again", "Until", "If it fails", "Remark", "Approve"]
    places = [shown.index(each) for each in order]
    assert places == sorted(places), shown
    assert "12:15 UTC · 15 min left" in shown
    assert sheet.words[-1][1] in shown


def test_the_worst_check_is_first_and_read_without_a_click() -> None:
    found = view(of_unplanned())
    assert [each.outcome for each in found.checks] == ["overridden", "excused", "excused"]
    assert [each.open for each in found.checks] == [True, False, False]
    assert [each.name for each in found.folded] == ["standby_space"]
    assert found.checks_ok == 1


@pytest.mark.parametrize(("mode", "typed"), [("rebuild", True), ("quarantine", False)])
def test_the_name_of_the_group_is_typed_only_where_something_is_deleted(mode: str, typed: bool) -> None:
    shown = page(of_failback(mode))
    assert ("To approve, type orders" in shown) is typed
    assert ("are deleted on east" in " ".join(visible_words(shown))) is typed


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"reader": "dora"},
            "You are dora and were not asked, so you may not answer. alice or bob can, until 12:15 UTC",
        ),
        ({"reader": "carol"}, "You are carol and triggered this run, so you may not answer. alice or bob can"),
        ({"reader": "bob"}, "You are bob, and your role in Airflow may not answer questions"),
    ],
)
def test_who_may_not_answer_reads_why_and_who_can_and_gets_no_button(changes: dict[str, str], said: str) -> None:
    sheet = replace(of_planned(), excluded=(("carol", "triggered this run"),))
    shown = page(sheet, allowed=False, **changes)
    assert said in shown
    assert "<button" not in shown
    assert "<script" not in shown


def test_an_answered_question_and_an_expired_one_take_no_answer() -> None:
    answered = page(of_planned(), answered="bob has approved this")
    late = page(of_planned(), at=NOON + timedelta(minutes=16))
    assert "bob has approved this" in answered
    assert "Nobody answered in time" in late
    assert "<button" not in answered + late


@pytest.fixture
def in_chromium(tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """Open a page in a real browser, at an address where nothing else is."""
    shown: list[str] = []

    class Address(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(shown[-1].encode() if self.path == "/" else b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Address) as server, chromium(tmp_path) as browser:
        Thread(target=server.serve_forever, daemon=True).start()

        def opened(html: str) -> Page:
            shown.append(html)
            browser.go(f"http://127.0.0.1:{server.server_port}/")
            browser.wait("document.readyState === 'complete' && document.querySelector('.answer')")
            return browser

        yield opened
        server.shutdown()


def test_what_deletes_is_not_approved_before_its_group_is_typed(in_chromium: Callable[[str], Page]) -> None:
    shown = in_chromium(page(of_failback("rebuild")))
    says = "document.getElementById('said').innerText"
    for typed in ("", "order"):
        shown.type("#typed", typed)
        shown.click(button("Approve"))
        shown.wait(f"{says} === 'Nothing was sent: type orders first.'")
        assert shown.ask("document.activeElement.id") == "typed"
    shown.press("Enter")
    assert shown.ask(says) == "Nothing was sent: type orders first."
    shown.type("#typed", "s")
    shown.click(button("Approve"))
    # It asks Airflow from here on, and no Airflow is there.
    shown.wait(f"{says}.includes('Airflow does not have this question any more')")
    assert shown.ask("document.documentElement.scrollWidth <= innerWidth")


@given(st.text(alphabet="`*_[]()<>!&#|\\-+=:@/w.\n a\u202e", max_size=40), st.sampled_from([markdown, code]))
def test_what_is_quoted_is_shown_as_it_is_and_does_nothing(text: str, quoted: Any) -> None:
    shown = str(shown_markdown(f"**x**: {quoted(text)} y"))
    as_others_do = MarkdownIt().render(f"**x**: {quoted(text)} y")
    parts = ("<p>", "</p>", "<b>", "</b>", "<code>", "</code>")
    rest = shown
    for part in parts:
        rest = rest.replace(part, "")
    assert "<" not in rest
    plain = as_others_do.replace("<strong>", "<b>").replace("</strong>", "</b>").strip()
    assert " ".join(_text(shown).split()) == " ".join(_text(plain).split())


def _text(html: str) -> str:
    return " ".join(visible_words(html))


def test_nothing_that_a_person_wrote_acts_on_the_page() -> None:
    hostile = "</script><script>x</script>\n\n# Dry run \u202e"
    shown = page(replace(of_planned(), words=(("Reason", hostile),)), reader=hostile, requester=hostile)
    assert shown.count("<script") == 1
    assert "\u202e" not in shown


def test_a_sheet_is_kept_without_what_no_page_shows() -> None:
    sheet = of_planned()
    kept = sheet.to_json()
    assert kept.keys() == {*asdict(sheet), "checks_ok"}
    assert [row.keys() for row in kept["checks"]] == [{"name", "outcome", "detail"}] * 3


def test_who_asked_for_a_run_and_may_approve_it_reads_that_the_topology_permits_it() -> None:
    said = "You asked for this run and may approve it yourself: requester_may_approve in the topology permits it."
    assert said in page(of_planned(), requester=FORM.reader)
    assert said in page(of_unplanned(), requester=FORM.reader, answered="alice has approved this")
    assert "You asked for this run" not in page(of_planned())
    assert "You asked for this run" not in page(of_planned(), requester=FORM.reader, allowed=False)
    assert "You asked for this run" not in page(of_planned(), requester="")
