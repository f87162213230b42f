"""The table of situations: each row by the facts that make it, at its boundaries, and from every interrupted step."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.evidence.headline_view import headline_view
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.runs.request import VERBS
from kafka_dr.situations.group_facts import Finding, GroupFacts
from kafka_dr.situations.group_now import group_now
from kafka_dr.situations.judgement import WHAT, Judgement, judge
from kafka_dr.situations.situation import Situation
from kafka_dr.situations.table import SITUATIONS
from kafka_dr.watch_results import WATCHES, OpenRun, RunEnding, RunningStep, WatchName
from kafka_dr.watch_results.running_steps import DEAD_AFTER
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON, REGISTER, kept
from support.sentences import assert_sentence
from support.situation_cases import (
    ASKED,
    CASES,
    ENDED,
    HEALTH,
    MINUTE,
    NOT_BACK,
    NOT_FOR_PEOPLE,
    REFUSED,
    SECOND,
    STEP,
    SWITCHING,
    health,
    red,
    results,
)


def found(
    now: datetime = NOON + 40 * SECOND,
    *,
    running: tuple[RunningStep, ...] = (),
    asked: tuple[OpenRun, ...] = (),
    endings: tuple[RunEnding, ...] = (),
    **changed: Any,
) -> Judgement:
    return group_now(watched_group("orders", results(**changed), now), endings, running, now, asked).judgement


def test_what_was_found_before_the_last_move_is_not_known_since_the_move() -> None:
    moved, now = NOON - 5 * MINUTE, NOON + 40 * SECOND
    looked = kept("orders", "offsets", looked_at=NOON - 20 * MINUTE, facts={"flow": "east-to-west"})
    known = group_now(
        watched_group("orders", results(offsets=looked, health=health(recorded_at=moved.isoformat())), now), (), (), now
    )
    assert known.judgement.name == "not_due_yet"
    finding = next(each for each in known.facts.findings if each.watch == "offsets")
    assert (finding.outcome, finding.since, finding.due) == ("unknown", moved, moved + looked.good_for)


def test_every_situation_of_the_table_has_a_case() -> None:
    assert [each.name for each in SITUATIONS] == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_each_situation_is_found_by_its_facts_and_says_one_step_in_plain_words(name: str) -> None:
    case = CASES[name]
    judged = found(**case)
    assert judged.name == name
    texts = (judged.headline, judged.sentence, judged.wait, judged.why_not)
    assert_sentence(texts)
    assert not [text for text in texts if NOT_FOR_PEOPLE.search(text) or "{" in text], texts
    assert sum(len(text.split()) for text in texts) <= 60, texts
    assert judged.action or judged.wait or judged.name == "well"
    assert judged.colour == "good" or judged.name != "well"


def test_the_button_after_a_run_leads_to_the_run_that_ended() -> None:
    assert found(**CASES["just_ended"]).run == ENDED.run != REGISTER["run"]


@pytest.mark.parametrize("name", CASES)
def test_who_may_not_answer_reads_the_question_and_is_led_everywhere_else_as_before(name: str) -> None:
    links = StatusLinks("/", *([lambda *_: "/"] * 7))
    judged = found(**CASES[name])
    anybody, reader = (headline_view(judged, links, may_answer=may) for may in (True, False))
    assert (anybody.button is None) == (judged.action is None)
    if judged.action is not None and judged.action.opens == "question":
        assert reader.button == ("Read the question", "/")
    else:
        assert reader == anybody


def test_the_guide_has_the_table_of_the_code() -> None:
    guide = Path(__file__).parents[3].joinpath("include", "guide", "situations.md").read_text("utf-8")
    rows = [line for line in guide.splitlines() if line.startswith("| ")][2:]
    assert rows == [guide_row(each) for each in SITUATIONS]


def guide_row(row: Situation) -> str:
    """Return a row of the table in the guide; what is filled in is in italics."""
    cells = (row.word, row.headline, row.action.label if row.action else row.wait or "nothing", row.why_not)
    plain = (
        re.sub(r"{(since_[a-z]+|elapsed_since|usually|elsewhere|not_there|except_to)}", "", cell).strip()
        for cell in cells
    )
    return re.sub(r"{(\w+)}", r"*\1*", f"| {' | '.join(plain)} |").replace("|  |", "| |")


def test_only_a_group_that_is_proven_well_is_good() -> None:
    assert [each.name for each in SITUATIONS if each.colour == "good"] == ["well"]


@pytest.mark.parametrize("watch", sorted(WATCHES))
def test_a_watch_that_should_have_looked_is_unknown_with_since_when_and_what_it_prevents(watch: WatchName) -> None:
    every = WATCHES[watch].every
    old = replace(results()[watch], looked_at=NOON - 40 * every)
    judged = found(**{watch: old})
    assert judged.name == ("checks_late" if watch == "health" else "not_proven")
    assert judged.colour == "unknown"
    since = f"{old.looked_at:%H:%M} UTC"
    assert since in judged.headline
    if watch != "health":
        assert WHAT[watch] in judged.headline
        assert re.search("prevents nothing|keeps a planned|Whether a failover could start", judged.sentence)


def test_what_is_not_due_yet_is_not_unknown_until_it_should_have_looked() -> None:
    adopted = HEALTH | {"recorded_at": NOON.isoformat()}
    due = NOON + 3 * (WATCHES["checksum"].idle or WATCHES["checksum"].every)

    def at(now: datetime) -> Judgement:
        good: dict[WatchName, Any] = {
            name: replace(result, looked_at=now, facts=adopted if name == "health" else result.facts)
            for name, result in results().items()
        }
        return group_now(watched_group("orders", good | {"checksum": None}, now), (), (), now).judgement

    assert at(NOON + MINUTE).name == "not_due_yet"
    assert f"{due:%H:%M} UTC" in at(due - SECOND).wait
    assert at(due).name == "not_proven"


def test_a_damaged_result_is_never_called_not_due() -> None:
    adopted = health(recorded_at=NOON.isoformat())
    assert found(health=adopted, checksum=OSError("damaged")).name == "not_proven"


def test_a_step_is_slow_only_if_it_takes_much_longer_than_it_did() -> None:
    earlier = replace(ENDED, run="m1", ended_at=NOON - MINUTE, steps={"drain": 10.0})
    for seconds, name in ((30, "run_moving"), (31, "run_slow")):
        step = replace(STEP, seen_at=NOON + (seconds - 1) * SECOND)
        judged = found(NOON + seconds * SECOND, running=(step,), endings=(earlier,))
        assert judged.name == name, seconds
    other = replace(earlier, dag_id="dr_unplanned_failover")
    assert found(NOON + 31 * SECOND, running=(step,), endings=(other,)).name == "run_moving", "of another verb"
    assert found(NOON + 31 * SECOND, running=(step,), endings=(replace(earlier, good=False),)).name == "run_moving"


@pytest.mark.parametrize(
    ("verb", "step"), [(verb, step.name.value) for verb, rules in VERBS.items() for step in rules.steps]
)
def test_a_run_that_dies_at_any_step_is_half_moved_only_if_it_may_hold_the_group(verb: str, step: str) -> None:
    for holds in (False, True):
        at_work = replace(STEP, verb=verb, step=step, holds=holds)
        alive = found(NOON + DEAD_AFTER, running=(at_work,))
        assert alive.name == "run_moving", "its last sign of life is just not too old"
        dead = found(NOON + DEAD_AFTER + SECOND, running=(at_work,))
        assert (dead.word == "HALF MOVED") == holds
        assert not holds or (dead.action and dead.action.target == "dr_resume")


@pytest.mark.parametrize(("phase", "command"), [("switching", "abandon"), ("handed_over", "resume")])
def test_after_the_hand_over_a_dead_run_can_only_be_finished(phase: str, command: str) -> None:
    judged = found(health=health("failed", **{**SWITCHING, "phase": phase}))
    assert judged.action
    assert judged.action.command.startswith(f"{command} --group orders --run m9")


def test_the_register_of_the_target_decides_about_an_unplanned_failover() -> None:
    taken = {**SWITCHING, "verb": "unplanned_failover"}
    assert found(health=health("failed", **taken, silent=["east"])).name == "stopped_before_hand_over"
    assert found(health=health("failed", **taken, silent=["west"])).name == "stopped_register_away"


def test_a_question_counts_until_it_is_answered_expires_or_its_run_has_ended() -> None:
    assert found(NOON + SECOND, asked=(ASKED,)).name == "approval_waits"
    assert found(asked=(replace(ASKED, answered_by="alice"),)).name == "well"
    assert found(asked=(replace(ASKED, group="other"),)).name == "well"
    assert found(asked=(replace(ASKED, expires_at=NOON),)).name == "well"
    rejected = replace(NOT_BACK, note="REJECTED by bob")
    assert found(asked=(ASKED,), endings=(rejected,)).name == "well"


def test_a_dry_run_and_a_run_that_was_refused_before_it_held_the_group_change_no_situation() -> None:
    refused = replace(STEP, holds=False, ended_at=NOON, ended="refused", seen_at=NOON)
    assert found(running=(replace(STEP, dry_run=True),)).name == "well"
    assert found(running=(refused,)).name == "well"


def test_a_drill_is_live_hides_nothing_and_does_not_look_running_when_its_process_died() -> None:
    drill = replace(STEP, run="20261127143000", verb="drill", step="planned_drill", holds=False)
    alive, dead = replace(drill, seen_at=NOON + 39 * SECOND), replace(drill, seen_at=NOON - DEAD_AFTER)
    assert found(running=(alive,)).name == "drill_running"
    assert found(running=(dead,)).name == "drill_died"
    assert found(running=(replace(alive, ended_at=alive.seen_at, good=True),)).name == "well"
    assert found(running=(dead,), **CASES["drill_running"]).name == "drill_died"
    assert found(running=(alive,), **CASES["drill_died"]).name == "drill_running"
    for name in ("active_down", "nothing_answers", "check_red"):
        assert found(running=(alive,), **CASES[name]).name == name


@pytest.mark.parametrize("passed", [True, False])
def test_a_drill_that_has_ended_does_not_look_running_until_readiness_has_read_its_result(passed: bool) -> None:
    drill = replace(STEP, run="20261127143000", verb="drill", step="teardown", ended_at=NOON, good=True, holds=False)
    ended = replace(drill, result={"id": drill.run, "kind": "planned", "passed": passed, "died": False})
    assert found(running=(drill,), **CASES["drill_running"]).name == "drill_running", "its result is not kept yet"
    assert found(running=(ended,), **CASES["drill_running"]).name == "well"
    assert found(running=(ended,), **CASES["drill_overdue"]).name == ("well" if passed else "drill_overdue")


def test_a_silence_is_said_with_since_when_and_survives_a_look_that_could_not_hear() -> None:
    first = health("unknown", silent=["east"]).after(health(at=NOON - MINUTE))
    second = health("unknown", at=NOON + MINUTE, silent=["east"]).after(first)
    assert second.facts["silent_since"] == {"east": NOON.isoformat()}
    deaf = health("unknown", at=NOON + 2 * MINUTE)
    deaf = replace(deaf, facts={name: value for name, value in deaf.facts.items() if name != "silent"}).after(second)
    judged = found(NOON + 2 * MINUTE, health=deaf)
    assert judged.headline == "east, which is active, does not answer since 12:00 UTC · 2 min ago"
    back = health(at=NOON + 3 * MINUTE).after(deaf)
    assert back.facts["silent_since"] == {}


def test_a_cluster_that_a_slow_worker_does_not_hear_is_named_with_since_when_and_is_no_disaster() -> None:
    first = health("unknown", unheard=["east"], answering=["west"]).after(health(at=NOON - MINUTE))
    slow = health("unknown", at=NOON + MINUTE, unheard=["east"], answering=["west"]).after(first)
    judged = found(NOON + MINUTE, health=slow)
    assert (judged.name, judged.colour) == ("active_unheard", "unknown")
    assert judged.headline == "east, which is active, does not answer since 12:00 UTC · 60 s ago"
    assert "this worker was slow" in judged.sentence
    fast = health("unknown", at=NOON + 2 * MINUTE, silent=["east"], unheard=[], answering=["west"]).after(slow)
    judged = found(NOON + 2 * MINUTE, health=fast)
    assert (judged.name, judged.colour) == ("active_silent", "bad")
    assert judged.headline.startswith("east, which is active, does not answer since 12:00 UTC")
    heard = health(at=NOON + 3 * MINUTE, unheard=[], answering=["east", "west"]).after(fast)
    again = health(at=NOON + 4 * MINUTE, unheard=["east"], answering=["west"]).after(heard)
    assert again.facts["unheard_since"] == {"east": (NOON + 4 * MINUTE).isoformat()}


def test_an_old_cluster_is_back_since_a_look_heard_it_and_not_since_it_was_left() -> None:
    left: dict[str, Any] = {"phase": "unfenced", "recorded_at": (NOON - 5 * MINUTE).isoformat()}
    deaf = health("failed", at=NOON - MINUTE, **left, answering=["east"])
    assert found(NOON - MINUTE, health=deaf).name == "old_cluster_away"
    back = health("failed", **left, answering=["east", "west"]).after(deaf)
    later = health("failed", at=NOON + MINUTE, **left, answering=["east", "west"]).after(back)
    judged = found(NOON + MINUTE, health=later)
    assert judged.headline == "west, the old cluster, is back and may take writes since 12:00 UTC · 60 s ago"


def test_the_cause_comes_before_what_it_causes() -> None:
    """A canary that does not arrive leads to the flow that does not copy it, if that is known."""
    stopped = found(flows=red("flows"), canary=red("canary"), lag=red("lag"))
    assert (stopped.name, stopped.action and stopped.action.target) == ("flow_stopped", "flows")
    late = found(canary=red("canary"), lag=red("lag"))
    assert late.action
    assert late.action.target == "canary"


def test_a_cluster_that_a_slow_worker_hears_is_silent_no_more() -> None:
    gone = health("unknown", silent=["west"], answering=["east"])
    slow = replace(gone, looked_at=NOON + MINUTE, facts={"answering": ["west"], "unheard": ["east"]}).after(gone)
    assert (slow.facts["silent"], slow.facts["unheard"]) == ([], ["east"])


@pytest.mark.parametrize("facts", [{"silent": 5}, {"silent_since": "x"}, {"open_checks": []}, {"recorded_at": 7}])
def test_facts_of_the_wrong_kind_break_nothing(facts: dict[str, Any]) -> None:
    assert found(health=health("unknown", **facts)).colour != "good"


def test_a_judgement_of_nothing_is_unknown() -> None:
    assert judge(GroupFacts("orders", NOON)).name == "nothing_known"
    lag = Finding("lag", "failed", "too far", NOON)
    assert judge(GroupFacts("orders", NOON, "stable", "east", "west", findings=(lag,))).name == "flow_stopped"


def test_a_failback_that_was_refused_says_why_until_the_record_changes() -> None:
    judged = found(**CASES["needs_rebuild"])
    assert judged.sentence.endswith(
        "The last failback was refused and needs the mode rebuild, because orders.state on east is compacted, and "
        "stranded records would be its newest values."
    )
    assert judged.action is not None
    assert "--mode rebuild" in judged.action.command
    other = replace(REFUSED, note=r"REFUSED at preflight: sealed\_list: there is no list of stranded records. Make one")
    said = found(**CASES["diverged"], endings=(other,))
    assert said.name == "diverged"
    assert "The last failback was refused: there is no list of stranded records. Make west a copy" in said.sentence
    later = health("failed", phase="diverged", recorded_at=NOON.isoformat())
    assert found(health=later, endings=(REFUSED,)).name == "diverged", "another failover came since"
    done = replace(REFUSED, run="m7", note="COPY AGAIN", good=True)
    assert found(**CASES["diverged"], endings=(done, REFUSED)).name == "diverged"
