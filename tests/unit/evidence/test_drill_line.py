"""The last drill on a card: result, RTO and age; overdue, unreadable and damaged results never look good."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_dr.evidence.drill_line import drill_line
from kafka_dr.evidence.status_colour import CardLine
from kafka_dr.watch_results import KeptResult, RunningStep
from kafka_dr.watch_results.status import watched_group

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LAST = {
    "id": "20260226120000",
    "kind": "planned",
    "passed": True,
    "ended_at": "2026-02-26T12:00:00+00:00",
    "rto_seconds": 7.94,
    "rto_objective": 60.0,
    "why": "",
}

OF_30 = {"overdue": False, "every_days": 30}
NOT_ENDED = {**LAST, "passed": None}
STEP = RunningStep("orders", str(LAST["id"]), "drill", "planned_drill", NOON, NOON, "worker:1")


def line(facts: dict[str, Any], *, age: timedelta = timedelta(0)) -> CardLine:
    found = KeptResult("orders", "readiness", "ok", ("ready",), NOON - age, facts=facts)
    return drill_line(watched_group("orders", {"readiness": found}, NOON).of("readiness"), NOON)


def of(last: Any, *, overdue: bool = False, **more: Any) -> CardLine:
    return line({"drill": {"overdue": overdue, "every_days": 30, "last": last, **more}})


def test_a_drill_that_passed_is_shown_with_its_recovery_time_objective_and_age() -> None:
    assert of(LAST) == CardLine(
        "PASSED", "good", "planned drill 20260226120000, RTO 7.9 s (objective 60 s), 3 days ago"
    )


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ({**OF_30, "last": NOT_ENDED}, True),
        ({**OF_30, "last": None}, True),
        ({**OF_30, "overdue": True, "last": {**LAST, "id": "20260101120000"}}, True),
        ({**OF_30, "last": {**LAST, "why": "as readiness read it"}}, False),
        ({**OF_30, "last": {**NOT_ENDED, "id": "20260301120000"}}, False),
        ({**OF_30, "last": {**LAST, "id": "20260301120000"}}, False),
    ],
    ids=["runs", "never drilled", "an older one", "read already", "a newer one runs", "a newer one"],
)
@pytest.mark.parametrize("passed", [True, False])
def test_the_result_of_a_drill_is_shown_before_readiness_has_read_it(
    before: dict[str, Any], shown: bool, passed: bool
) -> None:
    found = {**LAST, "passed": passed, "why": "" if passed else "1 record was lost"}
    step = replace(STEP, step="teardown", ended_at=NOON, good=True, result=found)
    readiness = KeptResult("orders", "readiness", "ok", ("ready",), NOON, facts={"drill": before})
    status = watched_group("orders", {"readiness": readiness}, NOON).of("readiness")
    expected = of(found, overdue=before["overdue"] and not passed)
    assert (drill_line(status, NOON, (step,)) == expected) is shown
    assert drill_line(status, NOON) != expected
    assert step.is_shown(NOON + timedelta(minutes=10)), "readiness looks within minutes"


def test_a_drill_that_did_not_pass_says_why_first() -> None:
    found = of({**LAST, "passed": False, "why": "1 record was lost", "rto_seconds": None, "rto_objective": None})
    assert (found.word, found.colour) == ("DID NOT PASS", "bad")
    assert found.said == "planned drill 20260226120000: 1 record was lost, RTO not known, 3 days ago"
    assert of({**LAST, "passed": None}).word == "NOT ENDED"


def test_a_drill_whose_process_died_stopped_and_is_none_that_has_only_not_ended() -> None:
    died = {**LAST, "passed": None, "died": True}
    assert (of(died).word, of(died).colour) == ("STOPPED", "bad")
    assert "no process executes it any more" in of(died).said
    readiness = KeptResult("orders", "readiness", "ok", ("ready",), NOON, facts={"drill": {**OF_30, "last": NOT_ENDED}})
    status = watched_group("orders", {"readiness": readiness}, NOON).of("readiness")
    seen = {
        seconds: drill_line(status, NOON, [replace(STEP, seen_at=NOON - timedelta(seconds=seconds))]).word
        for seconds in (1, 44, 46)
    }
    assert seen == {1: "NOT ENDED", 44: "NOT ENDED", 46: "STOPPED"}
    assert (
        drill_line(status, NOON, [replace(STEP, run="another", seen_at=NOON - timedelta(hours=1))]).word == "NOT ENDED"
    )


def test_an_overdue_drill_is_not_good_whatever_the_last_one_found() -> None:
    late = of(LAST, overdue=True)
    assert (late.word, late.colour) == ("OVERDUE", "warn")
    assert late.said.startswith("passed: planned drill")
    assert late.said.endswith("; overdue: one has to pass every 30 days")
    assert of(None, overdue=True).word == "OVERDUE"
    assert of({**LAST, "passed": False}, overdue=True).word == "DID NOT PASS"


def test_no_drill_and_no_declared_drill_are_not_good() -> None:
    assert (of(None).word, of(None).colour) == ("NONE YET", "warn")
    assert line({"drill": None}).word == "NONE"


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"drill": 5},
        {"drill": {}},
        {"drill": {"overdue": False, "every_days": 30, "last": {**LAST, "passed": [True]}}},
        {"drill": {"overdue": False, "every_days": 30, "last": {**LAST, "ended_at": "yesterday"}}},
        {"drill": {"overdue": False, "every_days": 30, "last": {**LAST, "rto_seconds": "fast"}}},
        {"drill": {"overdue": False, "every_days": 30, "last": None, "unreadable": "it is damaged"}},
    ],
)
def test_what_is_missing_or_damaged_is_unknown(facts: dict[str, Any]) -> None:
    assert (line(facts).word, line(facts).colour) == ("UNKNOWN", "unknown")


def test_an_old_look_says_what_was_known_then_and_is_unknown() -> None:
    old = line({"drill": {"overdue": False, "every_days": 30, "last": LAST}}, age=timedelta(hours=5))
    assert (old.word, old.colour) == ("UNKNOWN", "unknown")
    assert old.said.startswith("not known since 2026-")
    assert "UTC, 5 h ago: whether one has ended or is overdue. It prevents no failover. Before: PASSED" in old.said
    never = drill_line(watched_group("orders", {}, NOON).of("readiness"), NOON)
    assert (never.word, "dr_readiness has not looked yet" in never.said) == ("UNKNOWN", True)
