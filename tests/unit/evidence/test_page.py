from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kafka_dr.evidence.page import render_page
from kafka_dr.evidence.run_view import build_run_view
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.evidence.view_model import RunView
from support.manual_clock import ManualClock
from support.sentences import assert_sentence

SEALED = datetime(2026, 11, 20, 4, tzinfo=UTC)
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Outline(HTMLParser):
    """Reads a page, fails on tags that do not match, and keeps its text and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [
            value or "" for name, value in attrs if name in ("src", "srcset", "data") or name.startswith("on")
        ]
        self.loads += [tag] if tag in ("script", "link", "iframe", "object", "img") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def read(html: str) -> str:
    """Return a page's text, each run of blanks as one."""
    outline = Outline()
    outline.feed(html)
    assert outline.open == []
    assert outline.loads == []
    assert "url(" not in html
    assert "@import" not in html
    return re.sub(r"\s+", " ", " ".join(outline.text))


def step(outcome: str = "done", *, second: int = 0, **more: object) -> dict[str, object]:
    return {
        "schema_version": 1,
        "outcome": outcome,
        "started_at": f"2026-11-20T03:00:{second:02}.000000Z",
        "finished_at": f"2026-11-20T03:00:{second + 1:02}.000000Z",
        "seconds": 1.25,
        "checks": [],
        "proofs": [],
        "facts": {},
        **more,
    }


GROUPS = [
    {
        "group": "orders-a",
        "topic": "orders.x",
        "partition": 0,
        "source_offset": 7,
        "target_offset": 9,
        "class": "exact",
    },
    {
        "group": "orders-b",
        "topic": "orders.x",
        "partition": 1,
        "source_offset": 1,
        "target_offset": 1,
        "class": "bounded",
    },
]
MOVED = "Completed: west is active"
PROMISED = {"write_outage_seconds": 5, "rto_seconds": 60, "rpo_seconds": 60}
REPORT: dict[str, object] = {
    "write_outage_seconds": 2.5,
    "rto_seconds": 90,
    "rpo_seconds": 60,
    "lost": 0,
    "redelivered_at_most": 1234,
    "objectives": [{"name": name, "objective": limit} for name, limit in PROMISED.items()],
}
ANSWER = {
    "approved": True,
    "responder": "alice",
    "responded_at": "2026-11-20T03:00:02.000000Z",
    "digest": "abc123",
    "reason": "agreed with sales",
}
COMPLETE = {
    "01-preflight.1.json": step(
        facts={
            "decision": {"verb": "planned_failover", "source": "east", "target": "west", "check_outcomes": {}},
            "reason": "Maintenance of the east <datacenter>",
        },
        intent=["write the decision facts"],
        checks=[{"name": "lag is low", "outcome": "ok", "detail": "3 records", "facts": {"lag": 3}}],
    ),
    "02-approval.1.json": step(second=1, detail="asked"),
    "02-approval.2.json": step(second=1, facts={"answer": ANSWER}),
    "04-fence_source.1.json": step("failed", second=2, detail="A leader did not answer."),
    "04-fence_source.2.json": step(
        second=3, proofs=[{"name": "probe refused", "outcome": "ok", "detail": "6 of 6 leaders", "facts": {}}]
    ),
    "07-cut_over_groups.1.json": step(second=4, facts={"groups": GROUPS}),
    "12-report.1.json": step(second=5, facts=REPORT),
}


UNDONE = step(facts={"lifted": 4})


def told(files: dict[str, dict[str, object]]) -> RunView:
    return build_run_view("orders", "run-1", {name: json.dumps(payload).encode() for name, payload in files.items()})


def page(view: RunView) -> str:
    return read(render_page(view, files=(), sealed_at=SEALED))


def test_a_complete_run_answers_every_question() -> None:
    view = told(COMPLETE)
    text = page(view)

    # It moved, and one objective was missed: its figure alone says so.
    assert (view.verdict, view.colour) == (MOVED, "good")
    assert "Planned failover of orders, east → west" in text
    assert "planned · 2026-11-20 03:00 copy id , until 2026-11-20 03:00:06.000 UTC" in text
    assert "Maintenance of the east <datacenter>" in text
    assert "Write outage 2.5 s objective 5 s, met" in text
    assert "Recovery time (RTO) 90 s objective 60 s, missed" in text
    assert "Delivered again, at most 1,234" in text
    assert "Approval alice approved agreed with sales 2026-11-20 03:00:02.000 abc123" in text
    assert "4 Fence source done 2026-11-20 03:00:03.000 1.25 2 1 of 1" in text
    assert "ok probe refused 6 of 6 leaders" in text
    assert "Meant to do write the decision facts" in text
    assert "lag is low 3 records" in text
    assert "orders-b orders.x 1 1 1 bounded" in text
    assert "A leader did not answer." in text
    assert "Sealed 2026-11-20 04:00:00 UTC by version" in text


def test_a_missed_objective_does_not_look_met() -> None:
    tones = {figure.label: figure.colour for figure in told(COMPLETE).figures}

    assert tones["Write outage"] == "good"
    assert tones["Data at risk (RPO)"] == "good"
    assert tones["Recovery time (RTO)"] == "bad"
    assert tones["Lost"] == "good"
    assert tones["Delivered again, at most"] == "unknown"


def test_a_figure_that_could_not_be_measured_is_not_known_and_not_good() -> None:
    view = told({"12-report.1.json": step(facts=REPORT | {"write_outage_seconds": None})})

    assert (view.figures[0].value, view.figures[0].colour) == ("not known", "unknown")
    assert "Write outage not known objective 5 s" in page(view)


@pytest.mark.parametrize(
    ("files", "verdict", "colour"),
    [
        ({}, "Nothing was recorded", "unknown"),
        ({"01-preflight.1.json": step()}, "Not finished: the last step recorded is preflight", "warn"),
        ({"01-adopt.1.json": step(step="adopt")}, "Adopted", "good"),
        ({"01-preflight.1.json": step("refused")}, "Stopped at preflight: refused", "bad"),
        (
            {"02-approval.1.json": step(facts={"answer": {**ANSWER, "approved": False}})},
            "Rejected by alice",
            "warn",
        ),
        ({"02-approval.1.json": step("passed", facts={"expired": True})}, "Expired: nobody answered in time", "warn"),
        ({"01-preflight.1.json": step("unknown")}, "Unknown at preflight: unknown", "unknown"),
        ({"01-preflight.1.json": step("splendid")}, "Unknown at preflight: splendid", "unknown"),
        ({"01-preflight.1.json": step(outcome=None)}, "Unknown at preflight: unknown", "unknown"),  # type: ignore[arg-type]
        ({**COMPLETE, "12-report.2.json": step("unknown")}, "Unknown at report: unknown", "unknown"),
        ({"04-fence_source.1.json": step("failed"), "13-roll_back.1.json": UNDONE}, "Rolled back", "warn"),
        (
            {"03-claim.1.json": step("refused"), "13-roll_back.1.json": step()},
            "Stopped at claim: refused",
            "bad",
        ),
        (
            {"09-flip_route.1.json": step("failed"), "13-roll_back.1.json": step("refused")},
            "Stopped at flip route: failed",
            "bad",
        ),
        ({**COMPLETE, "13-roll_back.1.json": step("refused")}, MOVED, "good"),
        ({**COMPLETE, "08-open_target.2.json": step("unproven")}, MOVED, "good"),
        (
            {**COMPLETE, "08-open_target.2.json": step("unproven"), "12-report.2.json": step("unknown")},
            "Unknown at report: unknown",
            "unknown",
        ),
        (
            {"08-open_target.1.json": step("unproven")},
            "Not finished: the last step recorded is open target",
            "warn",
        ),
        ({**COMPLETE, "92-fence_on_return.1.json": step()}, MOVED, "good"),
        ({**COMPLETE, "91-resume.1.json": step("failed"), "91-resume.2.json": step()}, MOVED, "good"),
        (
            {"05-drain.1.json": step(), "90-roll_back.1.json": UNDONE, "91-resume.1.json": step()},
            "Rolled back",
            "warn",
        ),
        (
            {"05-drain.1.json": step("failed"), "91-resume.1.json": step("failed")},
            "Stopped at drain: failed",
            "bad",
        ),
        (
            {"09-verify.1.json": step(), "92-fence_on_return.1.json": step()},
            "Not finished: the last step recorded is verify",
            "warn",
        ),
        ({"13-roll_back.1.json": step()}, "Nothing was recorded except a roll back", "unknown"),
        ({"13-roll_back.1.json": step("failed")}, "The roll back did not finish", "bad"),
        ({"13-roll_back.1.json": step("unknown")}, "The roll back did not finish", "bad"),
        (
            {"01-preflight.1.json": step("would_do"), "12-report.1.json": step("would_do")},
            "Dry run: completed",
            "good",
        ),
    ],
)
def test_a_run_that_ended_early_says_how(files: dict[str, dict[str, object]], verdict: str, colour: str) -> None:
    view = told(files)

    assert (view.verdict, view.colour) == (verdict, colour)
    assert verdict in page(view)


def test_a_step_whose_run_continued_without_a_proof_is_red_itself() -> None:
    view = told({**COMPLETE, "08-open_target.2.json": step("unproven")})
    assert [each.colour for each in view.steps if each.outcome == "unproven"] == ["bad"]


def test_an_answer_of_somebody_else_is_shown_and_does_not_count() -> None:
    view = told({"02-approval.1.json": step("refused", facts={"answer": {**ANSWER, "responder": "mallory"}})})

    assert [(each.who, each.counted, each.colour) for each in view.decisions] == [("mallory", False, "unknown")]
    assert "mallory approved did not count agreed with sales" in page(view)


@pytest.mark.parametrize("data", [b"", b'{"outcome": "ok"', b"\xff", b"[]", b"null"])
def test_a_file_that_was_cut_off_is_shown_as_unreadable_and_not_as_good(data: bytes) -> None:
    view = build_run_view("orders", "run-1", {"01-preflight.1.json": data})

    assert view.colour == "unknown"
    assert "Unknown at preflight: unreadable" in page(view)


@pytest.mark.parametrize(
    "odd",
    [
        {"checks": "none", "proofs": {"a": 1}, "facts": [1]},
        {"checks": [1, {"name": None}], "proofs": [{}], "seconds": "long", "started_at": "yesterday"},
        {
            "facts": {
                "groups": [1, {"group": "g", "topic": "t"}],
                "objectives": 5,
                "lost": True,
                "approved_by": ["a", "b"],
            }
        },
    ],
)
def test_a_payload_of_another_shape_still_makes_a_page(odd: dict[str, object]) -> None:
    assert "Preflight" in page(told({"01-preflight.1.json": step(**odd)}))  # type: ignore[arg-type]


def test_what_a_step_saw_cannot_become_markup() -> None:
    attack = "<script>alert(1)</script>"
    view = told(
        {"01-preflight.1.json": step(attack, facts={attack: attack, "verb": attack}, detail=attack, intent=[attack])}
    )

    html = render_page(view, files=(), sealed_at=SEALED)

    assert "<script" not in html
    assert attack in read(html)


def test_what_turns_the_direction_of_writing_or_paints_a_terminal_is_shown_and_does_nothing() -> None:
    attack = "\u202eko\u202c \x1b[2J \u2066x"
    html = page(told({"01-preflight.1.json": step(detail=attack, facts={"reason": attack, "verb": attack})}))
    assert not set("\u202e\u202c\u2066\x1b") & set(html)
    assert "\\u202eko\\u202c \\x1b[2J" in read(html)


def test_the_sealed_page_lists_every_file_with_its_digest(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path, ManualClock(SEALED))
    refs = [
        store.write("orders", "run-1", number, name, step()) for number, name in ((1, "preflight"), (2, "approval"))
    ]

    seal = store.seal("orders", "run-1")

    text = read((tmp_path / seal.path / seal.page).read_text(encoding="utf-8"))
    assert all(ref.sha256 in text for ref in refs)


def test_the_newest_step_shows_when_a_run_last_made_progress(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path, ManualClock(SEALED))
    assert store.last_step("orders", "run-1") is None
    for number, second in ((1, 7), (2, 31), (3, 12)):
        store.write("orders", "run-1", number, "drain", step(finished_at=f"2026-11-20T03:00:{second:02}.000000Z"))
    folder = tmp_path / "runs" / "orders" / "run-1"
    (folder / "04-verify.1.json").write_text('{"finished_at": "2026-11-20T03:0')
    (folder / "05-verify.1.json").write_text('{"finished_at": "2026-11-20T03:00:59"}')
    assert store.last_step("orders", "run-1") == datetime(2026, 11, 20, 3, 0, 31, tzinfo=UTC)


def test_what_differs_between_two_clusters_is_a_table() -> None:
    rows = [
        {
            "verdict": "safe",
            "blocks": True,
            "what": "topic orders.a",
            "active": "3 <b>",
            "standby": None,
            "reason": "no",
        },
        {"verdict": "note", "blocks": False, "what": "config x", "active": "1", "standby": "2", "reason": "may"},
    ]
    access = [
        {"lost": True, "mended": True, "sentence": "User:a could no longer produce to x"},
        {"lost": True, "mended": False, "sentence": "User:b could no longer consume y"},
    ]
    difference = {"rows": rows, "access": access}
    stored = {"01-plan.1.json": json.dumps(step(facts={"verb": "config_sync", "difference": difference})).encode()}
    html = render_page(build_run_view("orders", "r1", stored), files=(), sealed_at=None)
    said = read(html)
    assert "safe stops a switch topic orders.a 3 <b> no" in said
    assert "note config x 2 1 may" in said
    assert "User:a could no longer produce to x fixed by this plan" in said
    assert "User:b could no longer consume y not fixed" in said
    assert "Planned" in said
    assert "3 &lt;b&gt;" in html


@pytest.mark.parametrize("difference", [None, 5, {}, {"rows": 5}, {"rows": [5], "access": [5]}])
def test_a_difference_that_is_none_is_not_shown(difference: object) -> None:
    stored = {"01-plan.1.json": json.dumps(step(facts={"difference": difference})).encode()}
    assert "What differs" not in read(render_page(build_run_view("orders", "r1", stored), files=(), sealed_at=None))


def test_a_run_whose_old_cluster_differs_is_complete_and_not_good() -> None:
    left = {
        "phase": "unfenced",
        "override": "one vantage is all we have",
        "predicted_loss": {"at_least_records": 30, "as_of": "2026-11-20T02:59:00+00:00", "reason": "seen, not copied"},
        "source_side": {"fenced": False, "drained": False, "detail": "east does not answer"},
        "lost_at_least": 30,
        "returned": {"cluster": "east", "fenced_at": "2026-11-20T03:00:09+00:00", "since_opening": 5},
        "old_flow": {"stopped": False, "detail": "Connect has not answered"},
    }
    view = build_run_view("orders", "run-1", {"11-report.1.json": json.dumps(step(facts=left)).encode()})
    assert (view.verdict, view.colour) == ("Completed, unfenced", "warn")
    text = read(render_page(view, files=(), sealed_at=None))
    assert_sentence(text)
    assert [(each.label, each.value, each.colour) for each in view.figures] == [
        ("Lost until the last look", "30", "bad")
    ]


def test_a_lower_bound_of_nothing_is_not_shown_as_good() -> None:
    view = build_run_view(
        "orders", "run-1", {"11-report.1.json": json.dumps(step(facts={"lost_at_least": 0})).encode()}
    )
    assert [each.colour for each in view.figures] == ["unknown"]


def test_a_dry_run_says_so_in_its_title_even_if_it_was_refused() -> None:
    asked = {"dry_run": True, "verb": "planned_failover"}
    refused = told({"01-preflight.1.json": step("refused", facts=asked)})
    assert_sentence((refused.title, refused.verdict))
    ends = {**asked, "source": "east", "target": "west"}
    shown = told({"01-preflight.1.json": step("would_do", facts=ends)})
    assert shown.title == "Dry run of a planned failover of orders, east → west"


@pytest.mark.parametrize(
    ("verb", "phase", "verdict", "colour"),
    [
        ("planned_failover", "stable", "Completed: west is active", "good"),
        ("unplanned_failover", "stable", "Completed: west is active", "good"),
        ("unplanned_failover", "diverged", "Completed, diverged: west is active; next: a failback to east", "warn"),
        (
            "unplanned_failover",
            "unfenced",
            "Completed, unfenced: west is active; next: dr_health fences east when it answers, then a failback",
            "warn",
        ),
        ("failback", "stable", "Completed: east is active", "good"),
        ("take_over", "stable", "Completed", "good"),
        ("un_adopt", "released", "Completed", "good"),
    ],
)
def test_a_run_that_completed_says_where_the_group_is_active_and_what_is_next(
    verb: str, phase: str, verdict: str, colour: str
) -> None:
    missed = {
        "rto_seconds": 90,
        "objectives": [{"name": "rto_seconds", "objective": 60}, {"name": "x", "objective": 1}],
    }
    facts = {"verb": verb, "source": "east", "target": "west", "phase": phase, **missed}
    view = told({"12-report.1.json": step(facts=facts)})
    assert (view.verdict, view.colour) == (verdict, colour)
    assert "bad" in {each.colour for each in view.figures}
