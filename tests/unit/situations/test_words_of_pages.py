"""A person on call reads a page in seconds: its visible words are counted, with 3 and with 100 groups."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.evidence.open_run_view import OpenedRuns
from kafka_dr.evidence.page import render_page, render_result, render_status
from kafka_dr.evidence.result_view import build_result_view
from kafka_dr.evidence.run_view import build_run_view
from kafka_dr.evidence.status_view import StatusView, build_status_view
from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.register import Verb
from kafka_dr.runs.request import VERBS
from kafka_dr.situations.group_facts import FAILOVERS
from kafka_dr.situations.group_now import group_now
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON, kept
from support.page_links import LINKS
from support.situation_cases import CASES, NOT_FOR_PEOPLE, results
from support.visible_text import visible_words

NOW = NOON + timedelta(seconds=40)
QUIET, INCIDENT, RUN, READINESS = 150, 120, 200, 100


def status(name: str, groups: int, *, everywhere: bool = False) -> StatusView:
    """Return the status page of many groups: the first is in a situation, or all of them are."""
    case: dict[str, Any] = dict(CASES[name])
    running, asked, endings = (case.pop(each, ()) for each in ("running", "asked", "endings"))
    names = ["orders", *(f"group-{number:03}" for number in range(1, groups))]
    watched = [watched_group(each, results(**(case if everywhere or each == "orders" else {})), NOW) for each in names]
    opened = OpenedRuns(tuple((each, ()) for each in asked), running=tuple((each, ()) for each in running))
    return build_status_view(watched, NOW, LINKS, {"orders": endings}, opened)


@pytest.mark.parametrize("groups", [3, 100])
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_status_page_is_read_in_seconds(name: str, groups: int, everywhere: bool) -> None:
    page = status(name, groups, everywhere=everywhere)
    words = visible_words(render_status(page, reloads=False))
    text = " ".join(words)
    assert len(words) <= (QUIET if page.colour == "good" else INCIDENT), text
    assert not NOT_FOR_PEOPLE.search(text), text
    assert page.first.said in text
    assert text.index(page.first.sentence) < text.index("→")


def test_a_group_that_needs_somebody_is_never_folded_away_by_groups_that_are_well() -> None:
    text = " ".join(visible_words(render_status(status("diverged", 100))))
    assert "orders" in text
    assert "97 more groups: all well" in text
    assert "97 not well" in " ".join(visible_words(render_status(status("diverged", 100, everywhere=True))))


def test_the_headline_names_the_groups_that_share_a_situation() -> None:
    assert status("active_silent", 100, everywhere=True).first.about == "group-001, group-002 and 98 more"
    assert status("active_silent", 100).first.about == "orders"
    assert status("well", 100).first.said == "every group is well"


def test_the_line_of_a_group_that_is_not_well_shows_no_lag_from_before() -> None:
    lines = {name: " ".join(visible_words(render_status(status(name, 1)))) for name in ("well", "active_silent")}
    assert {name: "lag 0.5 s" in line for name, line in lines.items()} == {"well": True, "active_silent": False}


def a_run(verb: Verb) -> str:
    """Return the page of a run of which every step, answer and note is kept."""
    answer = {"approved": True, "responder": "alice", "responded_at": NOON.isoformat(), "digest": "a" * 64}
    left = [{"reader": f"reader {number}", "to_do": "start it on west", "command": "x " * 20} for number in range(30)]
    facts = {
        "decision": {"verb": verb, "source": "east", "target": "west"},
        "reason": "Maintenance of the east datacenter on Sunday night, agreed with sales",
        "left_to_do": left,
        "write_outage_seconds": 2.5,
        "rto_seconds": 9.0,
        "rpo_seconds": 1.0,
        "objectives": [
            {"name": each, "objective": 60} for each in ("write_outage_seconds", "rto_seconds", "rpo_seconds")
        ],
    }
    check = {"name": "lag is low", "outcome": "ok", "detail": "3 records " * 20, "facts": {}}
    step = {"outcome": "done", "started_at": NOON.isoformat(), "finished_at": NOON.isoformat(), "seconds": 1.25}
    stored = {
        f"{each.number:02}-{each.name.value}.1.json": json.dumps(
            {
                **step,
                "facts": facts | ({"answer": answer} if "approval" in each.name.value else {}),
                "checks": [check] * 5,
                "proofs": [check] * 5,
                "detail": "it was done " * 20,
            }
        ).encode()
        for each in VERBS[verb].steps
    }
    return render_page(build_run_view("orders", "manual__1", stored), files=(), sealed_at=NOON)


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_of_a_run_is_short_above_its_evidence(verb: Verb) -> None:
    page = a_run(verb)
    words = visible_words(page)
    assert len(words) <= RUN, " ".join(words)
    for said in ("alice", "Maintenance of the east", "Step by step"):
        assert said in " ".join(words)
    assert "reader 29" in page or "more commands" in page


def test_the_page_of_readiness_says_what_is_not_ok_first_and_what_is_ok_in_one_line() -> None:
    checks = [ReadinessCheck(f"check_{number:02}", "ok", "it was good " * 20, NOON) for number in range(60)]
    bad = ReadinessCheck("standby_space", "failed", "west has 3 GB left, expected 20: add a disk", NOON)
    long = " ".join(["look at it"] * 20)
    more = [ReadinessCheck(f"odd_{number}", "warning", long, NOON) for number in range(9)]
    none = VerbReadiness("failback", (ReadinessCheck("not_needed", "ok", "the standby is a copy"),))
    verbs = [VerbReadiness(verb, (*checks, bad, *more)) for verb in FAILOVERS]
    looked = kept("orders", "readiness", sentences=("s " * 30,) * 20, facts=facts_of((*verbs, none)))
    watched = watched_group("orders", results(readiness=looked), NOW)
    known = group_now(watched, (), (), NOW)
    view = build_result_view("orders", watched.of("readiness"), NOW, run_href="/run", report="", known=known)
    page = render_result(view)
    words = visible_words(page)
    text = " ".join(words)
    assert len(words) <= READINESS, text
    assert page.count(long) == 2 * 9, "all of it is in the folded table of each failover"
    assert text.count("west has 3 GB left, expected 20: add a disk") == 1, "once, although it stops both failovers"
    assert text.index("Can it be moved to west now? NO") < text.index("west has 3 GB") < text.index("checks are ok")
    assert "it was good" not in text


def test_words_that_are_folded_or_for_a_screen_reader_are_not_counted() -> None:
    page = (
        "<head><title>t</title></head><p>a <b>b</b></p><details><summary>c</summary>no <p>no</p><details>"
        "<summary>no</summary></details></details><details open><summary>d</summary><p>e</p></details>"
        '<span class="unseen">no</span><br>f'
    )
    assert visible_words(page) == ["a", "b", "c", "d", "e", "f"]
