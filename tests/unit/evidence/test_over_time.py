"""A figure over days: drawn to scale, with holes where nothing was measured, and its worst value in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kafka_dr.evidence.group_view import GroupLinks, KeptNames, build_group_view
from kafka_dr.evidence.over_time import FigureSpan, figure_line, incidents
from kafka_dr.evidence.page import render_group
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.watch_results import FigurePoint, KeptResult, Period
from kafka_dr.watch_results.status import watched_group

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
BEGIN = NOON - 10 * QUARTER


def points(*values: float | None) -> list[FigurePoint]:
    """Return the values of quarters of an hour that follow each other; ``None`` is a hole."""
    return [FigurePoint(BEGIN + at * QUARTER, value) for at, value in enumerate(values) if value is not None]


def test_values_are_drawn_to_scale_and_a_hole_ends_a_line() -> None:
    line = figure_line("lag_seconds", points(10.0, 5.0, None, None, 0.0), BEGIN, NOON, objectives={})
    assert line is not None
    assert line.lines == ("0.0,0.0 100.0,0.0 100.0,50.0 200.0,50.0", "400.0,100.0 500.0,100.0")
    assert line.objective is None
    assert line.said == (
        "Newest 0 s at 2026-03-01 10:30 UTC, worst measured 10 s at 2026-03-01 09:30 UTC; for 1.8 h nothing was "
        "measured, and what happened then is not known."
    )
    assert (line.highest, line.lowest, line.middle) == ("10 s", "0 s", BEGIN + 5 * QUARTER)


def test_an_objective_is_a_line_of_its_own_and_always_within_the_drawing() -> None:
    line = figure_line("rpo_seconds", points(15.0), BEGIN, NOON, objectives={"rpo_seconds": 60.0})
    assert line is not None
    assert (line.objective, line.lines) == (0.0, ("0.0,75.0 100.0,75.0",))
    assert line.said.endswith("the dashed line is the objective 60 s.")
    assert line.highest == "60 s"


def test_each_value_can_be_met_by_a_pointer_and_of_many_the_worst() -> None:
    line = figure_line("lag_seconds", points(10.0, None, 0.5), BEGIN, NOON, objectives={})
    assert line is not None
    assert [(each.x, each.width, each.said) for each in line.values] == [
        (0.0, 100.0, "10 s, 2026-03-01 09:30 UTC"),
        (200.0, 100.0, "0.5 s, 2026-03-01 10:00 UTC"),
    ], "where nothing was measured there is nothing to meet"
    week = [FigurePoint(NOON - at * QUARTER, float(at == 5)) for at in reversed(range(672))]
    long = figure_line("lag_seconds", week, week[0].at, NOON, objectives={})
    assert long is not None
    assert len(long.values) == 168
    assert [each.said for each in long.values if each.said.startswith("1 s")] == [
        "1 s, 2026-03-01 10:15 UTC to 2026-03-01 11:00 UTC"
    ]


def test_when_the_group_was_red_is_marked_and_said() -> None:
    red = [
        Period("failed", BEGIN + QUARTER, BEGIN + 2 * QUARTER, "west is not fenced."),
        Period("failed", BEGIN - 9 * QUARTER, BEGIN - 8 * QUARTER, "long ago"),
    ]
    line = figure_line("lag_seconds", points(10.0), BEGIN, NOON, objectives={}, red=red)
    assert line is not None
    said = "2026-03-01 09:45 UTC to 2026-03-01 10:00 UTC: west is not fenced."
    assert line.incidents == (FigureSpan(100.0, 100.0, said),)
    assert line.said.endswith(f"The red band is when the group was red: {said}")


def test_a_plot_marks_when_health_found_the_group_red() -> None:
    past = Period("failed", BEGIN, BEGIN + QUARTER, "it was red")
    good = KeptResult("orders", "health", "ok", ("well",), NOON, since=BEGIN + QUARTER, history=(past,))
    assert incidents(watched_group("orders", {"health": good}, NOON)) == (past,)
    bad = replace(good, outcome="failed", sentences=("it is red",))
    assert incidents(watched_group("orders", {"health": bad}, NOON))[0].sentence == "it is red"
    assert incidents(watched_group("orders", {}, NOON)) == ()


def test_the_worst_readiness_is_the_lowest() -> None:
    line = figure_line("planned_failover_score", points(100.0, 80.0, 90.0), BEGIN, NOON, objectives={})
    assert line is not None
    assert "Newest 90 % at" in line.said
    assert "worst measured 80 % at" in line.said


def test_without_a_value_in_that_time_there_is_no_drawing() -> None:
    assert figure_line("lag_seconds", [], BEGIN, NOON, objectives={}) is None
    old = [FigurePoint(BEGIN - QUARTER, 1.0), FigurePoint(NOON + QUARTER, 1.0)]
    assert figure_line("lag_seconds", old, BEGIN, NOON, objectives={}) is None


def test_the_page_of_a_group_draws_it_and_says_the_same_in_words() -> None:
    def by_run(of: str, run: str) -> str:
        return f"/{of}/{run}"

    named = {"dag": str, "dag_run": by_run, "evidence": by_run, "group": str, "result": by_run, "start": by_run}
    status = StatusLinks("/", **named, question=lambda *parts: parts[-1])  # type: ignore[arg-type]
    links = GroupLinks(status, report=lambda *parts: parts[-1], stranded=lambda group, run: run)
    line = figure_line("rpo_seconds", points(15.0, 30.0), BEGIN, NOON, objectives={"rpo_seconds": 60.0})
    assert line is not None
    view = build_group_view(watched_group("orders", {}, NOON), (), KeptNames(), NOON, links, figures=[line])
    page = render_group(view)
    assert '<polyline points="0.0,75.0 100.0,75.0 100.0,50.0 200.0,50.0">' in page
    assert page.count("worst measured 30 s at 2026-03-01 09:45 UTC") == 2
    assert "<span>60 s</span><span>0 s</span>" in page, "an axis of values"
    assert "<span>03-01 09:30</span><span>03-01 10:45</span><span>03-01 12:00 UTC</span>" in page, "and one of times"
    assert "<title>15 s, 2026-03-01 09:30 UTC</title>" in page
