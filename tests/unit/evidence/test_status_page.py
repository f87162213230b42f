"""The status page: what needs a person first, unknown as a word, and nothing in it that acts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_dr.evidence.open_run_view import OpenedRuns
from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.status_view import RunRow, StatusView, build_status_view
from kafka_dr.evidence.view_model import StepView
from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, ReadyVerb, VerbReadiness
from kafka_dr.watch_results import WATCHES, KeptResult, OpenRun, RunEnding, WatchName, WatchOutcome
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import FACTS, REGISTER
from support.page_links import LINKS
from support.sentences import assert_sentence

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)
HOSTILE = '<script>alert("x")</script>\u202e\x1b[2J'


def found(group: str, outcome: WatchOutcome = "ok", *, only: WatchName = "health", **more: Any) -> Any:
    """Return a group of which every watch is good, but one."""
    results: dict[WatchName, Any] = {
        name: KeptResult(group, name, "ok", ("all is good",), NOON, run="scheduled__1", facts=FACTS.get(name, {}))
        for name in WATCHES
    }
    results[only] = replace(results[only], outcome=outcome, **more)
    return watched_group(group, results, NOON)


def view(*groups: Any) -> StatusView:
    return build_status_view(groups, NOON + timedelta(seconds=40), LINKS, {})


def test_a_good_group_reads_like_a_sentence() -> None:
    (card,) = view(found("orders")).cards
    assert card.now.verdict == "WELL: east serves, west could take over"
    assert_sentence(card.state)
    assert (card.rows[0].word, card.rows[0].age, card.rows[0].is_open) == ("OK", "40 s ago", False)
    assert view(found("orders")).verdict == "WELL: 1 protection group: orders is well"
    assert view(found("a"), found("b")).verdict == "WELL: 2 protection groups: every group is well"


def test_what_needs_a_person_comes_first() -> None:
    page = view(found("a"), found("b", "unknown"), found("z", "failed"), found("c", "left_alone"))
    assert [card.group for card in page.cards] == ["z", "b", "c", "a"]
    assert page.verdict.startswith("FOUND: z: Is each cluster in the role that the register says? No since 12:00 UTC")
    assert [(card.first.word, card.colour) for card in page.cards] == [
        ("FOUND", "bad"),
        ("UNKNOWN", "unknown"),
        ("NOT ALL CHECKED YET", "warn"),
        ("WELL", "good"),
    ]


def test_a_group_without_any_result_is_unknown_in_words() -> None:
    page = view(watched_group("orders", {}, NOON))
    assert page.verdict == "UNKNOWN: orders: Which cluster is active is not known"
    assert page.cards[0].state == "UNKNOWN: no kept result says which cluster is active"
    assert {row.word for row in page.cards[0].rows} == {"UNKNOWN"}
    assert "UNKNOWN" in render_status(page)


def test_a_topology_without_groups_is_not_good() -> None:
    assert view().verdict == "UNKNOWN: the topology declares no protection group"


def test_an_old_result_says_what_was_last_known_and_that_it_is_unknown_now() -> None:
    old = found("orders", looked_at=NOON - timedelta(hours=3))
    (card,) = view(old).cards
    assert card.rows[0].age == "was OK 3 h ago"
    assert card.state.startswith("UNKNOWN now. 3 h ago: Active on east")


def test_a_run_that_holds_the_group_is_named_with_its_evidence() -> None:
    held = found("orders", "left_alone", facts={**REGISTER, "held": True, "phase": "switching"})
    (card,) = view(held).cards
    assert card.state.startswith("A run holds the group. Active on east, standby west: switching since")
    assert card.run_href == "/kafka-dr/evidence/orders/manual__1"


def test_facts_of_the_wrong_kind_make_the_state_unknown() -> None:
    for facts in ({}, {**REGISTER, "recorded_at": 5}, {**REGISTER, "recorded_at": "x"}):
        (card,) = view(found("orders", facts=facts)).cards
        assert card.state == "UNKNOWN: no kept result says which cluster is active; all is good"


def test_nothing_that_a_cluster_said_acts_on_the_page() -> None:
    hostile = found("orders", "failed", sentences=(HOSTILE,), facts={**REGISTER, "active": HOSTILE, "run": HOSTILE})
    page = render_status(view(hostile))
    assert page.count("<script") == 1, "the page's own"
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_every_address_leads_to_a_dag_a_run_or_airflow() -> None:
    page = render_status(view(found("orders")))
    for dag_id in ("dr_adopt", "dr_planned_failover", "dr_unplanned_failover", "dr_failback", "dr_resume"):
        assert f'href="/dags/{dag_id}"' in page
    assert 'href="/dags/dr_health/runs/scheduled__1"' in page


def test_the_last_runs_are_shown_with_their_evidence_and_without_markdown() -> None:
    runs = (
        RunEnding("m2", "dr_planned_failover", "REJECTED by bob: not \\<tonight\\>", False, NOON),
        RunEnding("m1", "dr_planned_failover", "MOVED to west: RTO 8\\.8 s", True, NOON - timedelta(hours=3)),
    )
    (card,) = build_status_view([found("orders")], NOON, LINKS, {"orders": runs}).cards
    assert [(row.said, row.colour, row.age, row.href) for row in card.runs] == [
        ("REJECTED by bob: not <tonight>", "warn", "0 s ago", "/kafka-dr/evidence/orders/m2"),
        ("MOVED to west: RTO 8.8 s", "good", "3 h ago", "/kafka-dr/evidence/orders/m1"),
    ]
    page = render_status(build_status_view([found("orders")], NOON, LINKS, {"orders": runs}))
    assert "&lt;tonight&gt;" in page


def test_how_a_run_ended_is_one_badge_also_where_it_has_several_words() -> None:
    for note, word, rest in (
        ("NOT ROLLED BACK: it could not read the register", "NOT ROLLED BACK", "it could not read the register"),
        ("DRY RUN: nothing was changed", "DRY RUN", "nothing was changed"),
        ("MOVED to west: RTO 8.8 s", "MOVED", "to west: RTO 8.8 s"),
        ("Window: 22:00. REJECTED by bob", "Window:", "22:00. REJECTED by bob"),
        ("", "", ""),
    ):
        row = RunRow(note, "warn", "0 s ago", "m1", "planned · 12:00", "/")
        assert (row.word, row.rest) == (word, rest)


HALF: dict[str, Any] = {**REGISTER, "held": True, "phase": "switching"}


def test_a_group_that_is_half_moved_is_the_first_and_red_thing_on_the_page() -> None:
    said = "z is half moved: run m9 holds it: finish or abandon it"
    page = view(
        found("a", "failed"), found("z", "failed", sentences=(said, "more"), facts={**HALF, "half_moved": said})
    )
    assert (page.verdict, page.colour) == ("HALF MOVED: z: The planned failover stopped before its hand-over", "bad")
    assert [(card.group, card.half_moved) for card in page.cards] == [("z", said), ("a", "")]
    shown = render_status(page)
    assert shown.index("HALF MOVED</span>") < shown.index(said) < shown.index('aria-label="What a person can start"')
    assert 'class="act" href="/dags/dr_resume">Abandon or finish the run' in shown


def test_a_group_stays_half_moved_until_a_look_finds_that_it_is_not() -> None:
    half = KeptResult("z", "health", "failed", ("it is",), NOON, facts={**HALF, "half_moved": "it is"})
    nothing = KeptResult("z", "health", "unknown", ("no result within 50 s",), NOON).after(half)
    page = view(found("z", "unknown", facts=dict(nothing.facts), sentences=nothing.sentences))
    assert (page.cards[0].half_moved, page.colour) == ("it is", "bad")
    well = KeptResult("z", "health", "ok", ("all is good",), NOON, facts={**REGISTER, "half_moved": ""}).after(half)
    assert view(found("z", facts=dict(well.facts))).cards[0].half_moved == ""


def test_a_run_that_was_not_rolled_back_is_red_and_comes_first_until_health_has_looked_again() -> None:
    note = "NOT ROLLED BACK: the register that decides for orders cannot be read"
    at = NOON + timedelta(seconds=20)
    runs = {"orders": (RunEnding("m9", "dr_planned_failover", note, False, at),)}
    page = build_status_view([found("orders")], NOON + timedelta(seconds=40), LINKS, runs)
    assert (page.verdict, page.colour) == ("HALF MOVED: orders: The planned failover stopped half way", "bad")
    assert (page.cards[0].half_moved, page.cards[0].runs[0].colour) == (note, "bad")
    looked = found("orders", looked_at=NOON + timedelta(seconds=30), facts={**REGISTER, "half_moved": ""})
    later = build_status_view([looked], NOON + timedelta(seconds=40), LINKS, runs)
    assert (later.cards[0].half_moved, later.colour) == ("", "good")


def test_a_list_of_runs_that_cannot_be_read_says_so() -> None:
    (card,) = build_status_view([found("orders")], NOON, LINKS, {"orders": ValueError("it is damaged")}).cards
    assert card.runs_note == "UNKNOWN: the list of the last runs cannot be read: it is damaged"
    assert card.now.verdict == "WELL: east serves, west could take over"


def with_readiness(*verbs: VerbReadiness) -> Any:
    """Return a group of which every watch is good, with these answers of the verbs."""
    results: dict[WatchName, Any] = {
        name: KeptResult("orders", name, "ok", ("all is good",), NOON, run="scheduled__1", facts=REGISTER)
        for name in WATCHES
    }
    results["readiness"] = replace(results["readiness"], facts=facts_of(verbs))
    return watched_group("orders", results, NOON)


def ready(verb: ReadyVerb, *checks: ReadinessCheck, expected: tuple[str, ...] = ()) -> VerbReadiness:
    return VerbReadiness(verb, (ReadinessCheck("target_refuses", "ok", "west refuses writes"), *checks), expected)


NO_FAILBACK = VerbReadiness("failback", (ReadinessCheck("not_needed", "ok", "the standby is a copy"),))


def test_a_card_says_whether_the_group_can_fail_over_and_what_would_be_lost() -> None:
    (card,) = view(
        with_readiness(
            ready("planned_failover", expected=("A real run would lose no record", "Writes would stop for: 2.2 s")),
            ready(
                "unplanned_failover",
                expected=("records lost on west: nothing until 03:00:00 UTC; since then not known",),
            ),
            NO_FAILBACK,
        )
    ).cards
    assert [(line.question, line.word, line.colour) for line in card.verbs] == [
        ("Can it be moved to west now?", "YES", "good"),
        ("If east is lost now, can west take over?", "YES", "good"),
    ]
    assert card.verbs[0].said == "A real run would lose no record. Writes would stop for: 2.2 s"
    assert card.verbs[0].counted.endswith("checks are ok")
    assert card.asked == "asked 40 s ago"


def test_a_verb_that_would_be_refused_names_the_reason_first_and_since_when() -> None:
    stuck = ReadinessCheck("flow_moves", "failed", "dr.orders.east-to-west is stopped: run dr_flows", NOON)
    low = ReadinessCheck("standby_space", "warning", "little space is free on west")
    (card,) = view(
        with_readiness(ready("planned_failover", low, stuck), ready("unplanned_failover", low), NO_FAILBACK)
    ).cards
    planned, unplanned = card.verbs
    assert (planned.word, planned.colour) == ("NO", "bad")
    assert planned.said == "flow_moves: dr.orders.east-to-west is stopped: run dr_flows"
    assert_sentence(planned.findings)
    assert (unplanned.word, unplanned.colour) == ("YES, BUT", "warn")
    assert planned.counted.endswith("checks are ok; to look at: flow_moves, standby_space")


def test_what_there_is_to_look_at_is_named_without_a_click_and_a_long_list_is_cut() -> None:
    many = [ReadinessCheck(f"check_{number}", "warning", "look") for number in range(5)]
    (card,) = view(with_readiness(ready("planned_failover", *many), ready("unplanned_failover"), NO_FAILBACK)).cards
    assert card.verbs[0].counted.endswith("; to look at: check_0, check_1, check_2 and 2 more")
    assert card.verbs[1].counted.endswith("checks are ok")


def test_a_group_that_was_never_asked_has_unknown_answers_and_no_colour_of_good() -> None:
    (card,) = view(watched_group("orders", {}, NOON)).cards
    assert {(line.word, line.colour) for line in card.verbs} == {("UNKNOWN", "unknown")}
    assert card.asked == "never asked"
    assert "Can it be moved to the standby cluster now?" in render_status(view(watched_group("orders", {}, NOON)))


def test_nothing_that_a_check_said_acts_on_the_page() -> None:
    hostile = ReadinessCheck(HOSTILE, "failed", HOSTILE)
    page = render_status(
        view(with_readiness(ready("planned_failover", hostile), ready("unplanned_failover"), NO_FAILBACK))
    )
    assert page.count("<script") == 1, "the page's own"
    assert "\u202e" not in page


ASKED = OpenRun(
    "orders", "m9", "dr_planned_failover", "Move orders from east to west?", ("alice", "bob"), NOON, NOON + HALF_AN_HOUR
)
PREFLIGHT = StepView(1, "preflight", 1, "01-preflight-1.json", "ok", seconds=1.25)
QUESTION = StepView(2, "approval", 1, "02-approval-1.json", "done", seconds=0.5)


def with_open(
    run: OpenRun, steps: Any = (PREFLIGHT, QUESTION), *, at: datetime = NOON, endings: Any = ()
) -> StatusView:
    return build_status_view([found("orders")], at, LINKS, {"orders": endings}, OpenedRuns(((run, steps),)))


def test_a_run_that_waits_is_the_first_thing_on_the_page_with_a_link_to_its_question() -> None:
    shown = with_open(ASKED, at=NOON + timedelta(minutes=7))
    (line,) = shown.open_runs
    assert (line.word, line.waiting, shown.refresh_seconds) == ("WAITS FOR YOU", True, 5)
    assert_sentence(line.said)
    assert [(step.title, step.said) for step in line.steps] == [
        ("Preflight", "ok in 1.2 s"),
        ("Approval", "waits for an answer"),
    ]
    page = render_status(shown)
    assert page.index("WAITS FOR YOU") < page.index("What a person can start")
    assert 'href="/kafka-dr/question/dr_planned_failover/orders/m9"' in page
    assert 'href="/kafka-dr/evidence/orders/m9"' in page


def test_a_run_that_was_answered_continues_step_by_step_and_one_that_expired_waits_for_nobody() -> None:
    (line,) = with_open(replace(ASKED, answered_by="alice")).open_runs
    assert (line.word, line.waiting) == ("RUNNING", False)
    assert line.said.endswith("answered by alice.")
    (late,) = with_open(ASKED, at=NOON + timedelta(minutes=31)).open_runs
    assert (late.word, late.colour, late.waiting) == ("EXPIRED", "unknown", False)
    (blind,) = with_open(ASKED, OSError("no answer")).open_runs
    assert [step.said for step in blind.steps] == ["UNKNOWN: no answer"]


def test_a_dry_run_is_shown_step_by_step_and_asks_nobody() -> None:
    dry = OpenRun.dry("orders", "m8", "dr_planned_failover", "A dry run: it changes nothing and asks nobody.", NOON)
    checked = replace(PREFLIGHT, outcome="would_do")
    shown = with_open(dry, (checked,), at=NOON + timedelta(seconds=9))
    (line,) = shown.open_runs
    assert (line.word, line.colour, line.waiting, shown.refresh_seconds) == ("DRY RUN", "good", False, 5)
    assert line.said == "A dry run: it changes nothing and asks nobody. Began 9 s ago."
    assert [(step.title, step.said) for step in line.steps] == [("Preflight", "checked only in 1.2 s")]
    ended = RunEnding("m8", "dr_planned_failover", "DRY RUN", True, NOON + timedelta(minutes=1))
    assert with_open(dry, endings=(ended,)).open_runs == ()


def test_a_run_that_has_ended_is_not_shown_as_open_even_if_nobody_removed_it() -> None:
    ending = RunEnding("m9", "dr_planned_failover", "REJECTED by bob", False, NOON + timedelta(minutes=1))
    assert with_open(ASKED, endings=(ending,)).open_runs == ()
    assert with_open(ASKED, endings=(replace(ending, ended_at=NOON - HALF_AN_HOUR),)).open_runs != ()


def test_open_runs_that_are_not_known_are_named_and_hostile_ones_are_text() -> None:
    page = render_status(build_status_view([found("orders")], NOON, LINKS, {}, OpenedRuns(problem="1 file is damaged")))
    assert "1 file is damaged" in page
    hostile = render_status(with_open(replace(ASKED, question=HOSTILE, people=(HOSTILE,), answered_by=HOSTILE)))
    assert hostile.count("<script") == 1, "the page's own"
    assert "\u202e" not in hostile
