"""The page of a group: everything that is kept is one link away, drawn to scale, and nothing unknown looks good."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.evidence.group_view import GroupLinks, KeptDrill, KeptNames, build_group_view
from kafka_dr.evidence.objectives import MeasuredObjective
from kafka_dr.evidence.open_run_view import OpenedRuns
from kafka_dr.evidence.page import render_group, render_result, with_way_back
from kafka_dr.evidence.result_view import build_result_view
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.status_view import build_status_view, open_runs
from kafka_dr.evidence.timeline import WIDTH, bar_chart, in_words, shown_time, timeline
from kafka_dr.situations.group_now import group_now
from kafka_dr.watch_results import WATCHES, KeptResult, Period, RunEnding, RunningStep
from kafka_dr.watch_results.status import watched_group

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOSTILE = '"><script>alert(1)</script>\u202e'
LINKS = GroupLinks(
    StatusLinks(
        "/",
        dag=lambda dag_id: f"/dags/{dag_id}",
        dag_run=lambda dag_id, run: f"/dags/{dag_id}/runs/{run}",
        evidence=lambda group, run: f"/evidence/{group}/{run}",
        group=lambda group: f"/groups/{group}",
        result=lambda group, watch: f"/results/{group}/{watch}",
        question=lambda dag_id, group, run: f"/kafka-dr/question/{dag_id}/{group}/{run}",
        start=lambda dag_id, group: f"/kafka-dr/start/{dag_id}/{group}",
    ),
    report=lambda group, audit, direction, run: f"/audits/{group}/{audit}/{direction}/{run}",
    stranded=lambda group, run: f"/stranded/{group}/{run}",
)
RESULT = KeptResult("orders", "lag", "ok", ("the copy is 0 records short",), NOON, run="scheduled__1", since=NOON)


def outage(seconds: float | None) -> MeasuredObjective:
    return MeasuredObjective("write_outage_seconds", seconds, 5.0)


def ended(run: str, seconds: float | None, *, at: datetime = NOON, note: str = "MOVED to west") -> RunEnding:
    measured = {} if seconds is None else {"write_outage_seconds": seconds}
    return RunEnding(
        run, "dr_planned_failover", note, True, at, measured=measured, objectives={"write_outage_seconds": 5.0}
    )


def page(*endings: RunEnding, kept: KeptNames = KeptNames(), result: KeptResult = RESULT) -> Any:  # noqa: B008
    status = watched_group("orders", {"lag": result}, NOON)
    return build_group_view(status, endings, kept, NOON, LINKS)


def test_every_watch_run_report_and_list_is_one_link_away() -> None:
    kept = KeptNames(("manual__1", "manual__2"), (("lag", "east-to-west", "scheduled__9"),), ("manual__2",))
    shown = render_group(page(ended("manual__1", 2.0), kept=kept))
    assert all(f'href="/results/orders/{watch}"' in shown for watch in WATCHES)
    assert shown.count('href="/evidence/orders/manual__1"') == 1
    assert 'href="/evidence/orders/manual__2"' in shown
    assert 'href="/audits/orders/lag/east-to-west/scheduled__9"' in shown
    assert 'href="/stranded/orders/manual__2"' in shown


def test_a_group_that_is_half_moved_says_so_first_as_the_status_page_does() -> None:
    said = "orders is half moved: check west now"
    record = {"phase": "switching", "active": "west", "standby": "east", "epoch": 7, "verb": "planned_failover"}
    facts = record | {"run": "m9", "held": True, "recorded_at": NOON.isoformat(), "approved_by": "alice"}
    half = {**facts, "half_moved": said, "half_moved_run": "m8"}
    status = watched_group(
        "orders", {"health": KeptResult("orders", "health", "failed", (said,), NOON, facts=half)}, NOON
    )
    step = RunningStep("orders", "m9", "planned_failover", "drain", NOON, NOON, "worker:1", holds=True)
    known = group_now(status, (), (step,), NOON)
    lines = tuple(open_runs(OpenedRuns(running=((step, ()),)), NOON, LINKS.status, {}))
    view = build_group_view(status, (), KeptNames(), NOON, LINKS, known=known, open_runs=lines)
    (card,) = build_status_view([status], NOON, LINKS.status, {}, OpenedRuns(running=((step, ()),))).cards
    shown = render_group(view)
    assert (
        (card.now.verdict, card.half_moved)
        == (known.verdict, known.half_moved)
        == (
            "HALF MOVED: The planned failover stopped before its hand-over",
            said,
        )
    )
    assert (
        shown.index("The planned failover stopped before its hand-over")
        < shown.index(said)
        < shown.index("Drain, since 12:00:00 UTC (0 s)")
    )
    assert card.half_moved_href in shown
    assert (card.state, card.half_moved_href) == (known.record.said, "/evidence/orders/m8")


def test_what_cannot_be_read_is_unknown_in_words() -> None:
    status = watched_group("orders", {}, NOON)
    kept = KeptNames(problems=("UNKNOWN: runs/orders below the evidence root cannot be read: no answer",))
    view = build_group_view(status, OSError("broken"), kept, NOON, LINKS)
    assert {row.word for row in view.watches} == {"UNKNOWN"}
    shown = render_group(view)
    assert "the list of the last runs cannot be read: broken" in shown
    assert "runs/orders below the evidence root cannot be read" in shown


def test_more_runs_than_fit_are_counted() -> None:
    view = page(kept=KeptNames(tuple(f"manual__{number:04}" for number in range(230))))
    assert (len(view.other_runs), view.other_runs[0].title) == (200, "manual__0229")
    assert view.left_out == ("30 more runs are in the folder of the evidence",)


def test_a_chart_shows_runs_in_the_order_of_time_with_their_objective_in_words() -> None:
    view = page(
        ended("second", 7.5, at=NOON), ended("first", 2.5, at=NOON - HOUR), ended("third", None, at=NOON + HOUR)
    )
    (chart,) = view.charts
    assert chart.title == "Write outage of the last runs"
    assert [bar.label for bar in chart.bars] == [
        "write outage 2.5 s, met 5 s",
        "write outage 7.5 s, missed 5 s by 2.5 s",
        "write outage not known, objective 5 s",
    ]
    assert [bar.colour for bar in chart.bars] == ["good", "bad", "unknown"]
    assert [bar.height for bar in chart.bars] == [33.3, 100.0, 0.0]
    assert (chart.objective, chart.objective_label) == (66.7, "objective 5 s")
    assert all(bar.label in render_group(view) for bar in chart.bars)


def test_drills_are_listed_and_drawn_apart_from_runs() -> None:
    status = watched_group("orders", {"lag": RESULT}, NOON)
    drills = [
        KeptDrill("the planned drill 2 did not pass", False, NOON, (outage(7.0),)),
        KeptDrill("the planned drill 1 passed", True, NOON - HOUR, (outage(2.0),)),
    ]
    view = build_group_view(status, [ended("run", 3.0)], KeptNames(), NOON, LINKS, drills)
    assert [(row.word, row.colour) for row in view.drills] == [("DID NOT PASS", "bad"), ("PASSED", "good")]
    assert [(chart.title, len(chart.bars)) for chart in view.charts] == [
        ("Write outage of the last runs", 1),
        ("Write outage of the last drills", 2),
    ]
    assert [bar.colour for bar in view.charts[1].bars] == ["good", "bad"]
    assert "the planned drill 2 did not pass" in render_group(view)


def test_without_a_measurement_there_is_no_chart() -> None:
    assert bar_chart("outage", [("run", outage(None))]) is None
    assert page(ended("run", None)).charts == ()


def test_a_timeline_shows_each_outcome_for_its_time_and_nothing_where_nobody_looked() -> None:
    history = (Period("failed", NOON - 3 * HOUR, NOON - 2 * HOUR, "too late"),)
    line = timeline(replace(RESULT, since=NOON - HOUR, history=history), NOON, shown=10 * HOUR)
    assert [(each.outcome, each.since, each.until) for each in line.parts] == [
        (None, NOON - 10 * HOUR, NOON - 3 * HOUR),
        ("failed", NOON - 3 * HOUR, NOON - 2 * HOUR + RESULT.good_for),
        (None, NOON - 2 * HOUR + RESULT.good_for, NOON - HOUR),
        ("ok", NOON - HOUR, NOON),
    ]
    assert [each.x for each in line.parts][:2] == [0.0, 700.0]


def test_a_red_look_between_two_good_ones_is_shown_until_the_next_look() -> None:
    minute = HOUR / 60
    before = Period("ok", NOON - 9 * minute, NOON - 4 * minute, "")
    once = Period("failed", NOON - 2 * minute, NOON - 2 * minute, "it was red once")
    line = timeline(replace(RESULT, history=(once, before), since=NOON - minute), NOON, shown=HOUR)
    assert [(each.outcome, each.since, each.until) for each in line.parts[1:]] == [
        ("ok", NOON - 9 * minute, NOON - 2 * minute),
        ("failed", NOON - 2 * minute, NOON - minute),
        ("ok", NOON - minute, NOON),
    ]


def test_timelines_reach_as_far_back_as_anything_is_known_up_to_two_weeks() -> None:
    for since, words in (
        (0, "the last hour"),
        (5, "the last 5 hours"),
        (72, "the last 3 days"),
        (999, "the last 14 days"),
    ):
        assert in_words(shown_time([RESULT, replace(RESULT, since=NOON - since * HOUR)], NOON)) == words
    assert in_words(shown_time([], NOON)) == "the last hour"


def test_an_old_result_does_not_reach_to_now() -> None:
    old = replace(RESULT, looked_at=NOON - 5 * HOUR, since=NOON - 6 * HOUR)
    last = timeline(old, NOON, shown=10 * HOUR).parts[-1]
    assert (last.outcome, last.until) == (None, NOON)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 100), st.sampled_from(["ok", "failed", "unknown"]))))
def test_a_timeline_has_no_hole_and_no_overlap_whatever_was_stored(found: list[tuple[int, int, Any]]) -> None:
    history = tuple(
        Period(outcome, NOON - HOUR * begin, NOON - HOUR * begin + HOUR * length, "")
        for begin, length, outcome in found
    )
    result = replace(RESULT, history=history)
    shown = shown_time([result], NOON)
    line = timeline(result, NOON, shown=shown)
    assert (line.parts[0].since, line.parts[-1].until) == (NOON - shown, NOON)
    assert all(one.until == two.since for one, two in zip(line.parts, line.parts[1:], strict=False))
    assert all(0 <= each.x < WIDTH and each.width > 0 for each in line.parts)


def test_nothing_that_was_stored_becomes_a_tag() -> None:
    kept = KeptNames((HOSTILE,), ((HOSTILE, HOSTILE, HOSTILE),), (HOSTILE,), (HOSTILE,))
    result = replace(RESULT, sentences=(HOSTILE,), facts={HOSTILE: [{HOSTILE: HOSTILE}]}, run=HOSTILE)
    shown = render_group(page(ended(HOSTILE, 1.0, note=HOSTILE), kept=kept, result=result))
    status = watched_group("orders", {"lag": result}, NOON).of("lag")
    shown += render_result(build_result_view("orders", status, NOON, run_href="/run", report=""))
    assert "<script" not in shown
    assert "\u202e" not in shown
    assert not re.search(r"<(?!svg|title|style)[a-z]+[^>]* on[a-z]+=", shown)


def test_a_result_shows_what_was_seen_measured_and_what_was_before() -> None:
    facts = {"seconds": 2.5, "latency": {"p99": 0.2}, "_private": "x", "headroom_seconds": None, "unnamed_key": 1}
    history = (Period("failed", NOON - 3 * HOUR, NOON - 2 * HOUR, "too late"),)
    found = replace(RESULT, facts=facts, history=history)
    status = watched_group("orders", {"lag": found}, NOON).of("lag")
    shown = render_result(build_result_view("orders", status, NOON, run_href="/run", report="/report"))
    for words in (
        "the copy is 0 records short",
        '<td>The oldest waits</td><td class="number">2.5 s</td>',
        '<td>99 of 100 arrive within</td><td class="number">0.2 s</td>',
        "FAILED from",
        'href="/report"',
    ):
        assert words in shown, words
    assert "private" not in shown.lower()
    assert "nnamed" not in shown, "a page has no keys of a document"


def test_a_result_that_was_never_kept_says_what_to_do() -> None:
    status = watched_group("orders", {}, NOON).of("canary")
    shown = render_result(build_result_view("orders", status, NOON, run_href="/dags/dr_canary", report=""))
    assert "dr_canary has not looked yet" in shown
    assert "Looked: never" in shown


def test_a_page_gets_a_way_back_and_stays_as_it_is_kept() -> None:
    whole = "<html><body><main>kept</main></body></html>"
    shown = with_way_back(whole, [("DR status", "/kafka-dr/status"), (HOSTILE, 'x"y')])
    assert shown.endswith("<main>kept</main></body></html>")
    assert 'href="/kafka-dr/status"' in shown
    assert shown.count("<script") == 1, "the pages' own"
    assert with_way_back("no page", []) == "no page"
