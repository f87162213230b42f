"""Readiness now: what the clusters said last, made worse by what a watch knows since, and never better."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.outcomes import CheckOutcome
from kafka_dr.readiness.judge import facts_of, judged, readiness_now, verbs_in
from kafka_dr.readiness.model import NOT_NEEDED, Answer, ReadinessCheck, ReadyVerb, VerbReadiness
from kafka_dr.watch_results import WATCHES, KeptResult, WatchName, WatchOutcome
from kafka_dr.watch_results.status import watched_group
from support.sentences import assert_sentence

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VERBS: tuple[ReadyVerb, ...] = get_args(ReadyVerb)
OUTCOMES = get_args(CheckOutcome)


def check(outcome: CheckOutcome = "ok", name: str = "target_refuses") -> ReadinessCheck:
    return ReadinessCheck(name, outcome, f"it is {outcome}")


def verbs(planned: CheckOutcome = "ok", unplanned: CheckOutcome = "ok") -> tuple[VerbReadiness, ...]:
    return (
        VerbReadiness("planned_failover", (check(planned),), ("A real run would lose no record",)),
        VerbReadiness("unplanned_failover", (check(unplanned),)),
        VerbReadiness("failback", (check(name=NOT_NEEDED),)),
    )


def group(
    found: tuple[VerbReadiness, ...] = verbs(),
    *,
    at: datetime = NOON,
    facts: Any = None,
    watches: dict[WatchName, WatchOutcome] | None = None,
    register: Any = None,
    begun: datetime | None = None,
) -> Any:
    """Return what is kept of a group: every watch is good, but those that are named.

    :param begun: since when health is as it is
    """
    results: dict[WatchName, Any] = {
        name: KeptResult("orders", name, (watches or {}).get(name, "ok"), (f"{name} said so",), NOON)
        for name in WATCHES
    }
    kept = facts if facts is not None else facts_of(found)
    results["readiness"] = replace(results["readiness"], facts=json.loads(json.dumps(kept)), looked_at=at)
    results["health"] = replace(results["health"], facts=register or {}, since=begun)
    return watched_group("orders", results, NOON)


def answers(*arguments: Any, **more: Any) -> list[Answer]:
    return [each.answer for each in readiness_now(group(*arguments, **more)).verbs]


def test_a_group_of_which_everything_is_ok_is_ready_and_needs_no_failback() -> None:
    assert answers() == ["ready", "ready", "not_needed"]


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        ("failed", "not_ready"),
        ("unknown", "unknown"),
        ("warning", "ready_with"),
        ("excused", "ready_with"),
        ("overridden", "ready_with"),
    ],
)
def test_one_check_that_is_not_ok_decides(outcome: CheckOutcome, answer: Answer) -> None:
    assert answers(verbs(planned=outcome)) == [answer, "ready", "not_needed"]


@pytest.mark.parametrize("age", [timedelta(minutes=31), -timedelta(minutes=31), timedelta(days=3)])
def test_an_answer_that_is_old_or_from_the_future_is_no_answer(age: timedelta) -> None:
    assert answers(at=NOON - age) == ["unknown", "unknown", "unknown"]


@pytest.mark.parametrize(
    ("seconds", "answer"), [(-3600, "ready"), (-31, "ready"), (-29, "unknown"), (0, "unknown"), (60, "unknown")]
)
def test_an_answer_from_before_the_register_changed_is_no_answer(seconds: int, answer: Answer) -> None:
    """A look that ended when the register changed may have read it before."""
    moved = {"run": "manual__2", "recorded_at": (NOON + timedelta(seconds=seconds)).isoformat()}
    found = readiness_now(group(register=moved))
    assert found.of("planned_failover").answer == answer
    if answer == "unknown":
        assert_sentence(found.of("planned_failover").open[0].detail)


@pytest.mark.parametrize("held", [True, False])
def test_clusters_are_asked_again_when_the_run_that_changed_the_group_holds_it_no_more(held: bool) -> None:
    moved = {"run": "manual__2", "recorded_at": NOON.isoformat(), "held": held}
    assert readiness_now(group(register=moved)).outdated is not held
    assert not readiness_now(group(register=moved, at=NOON + timedelta(seconds=31))).outdated


@pytest.mark.parametrize(
    ("asked", "health", "minutes", "outdated"),
    [
        ("unknown", "ok", 1, True),
        ("failed", "ok", 1, True),
        ("ok", "ok", 1, False),
        ("unknown", "ok", -1, False),
        ("unknown", "unknown", 1, False),
    ],
)
def test_clusters_that_gave_no_good_answer_are_asked_again_when_health_turned_good_since(
    asked: WatchOutcome, health: WatchOutcome, minutes: int, outdated: bool
) -> None:
    begun = NOON + timedelta(minutes=minutes)
    outcomes: dict[WatchName, WatchOutcome] = {"readiness": asked, "health": health}
    found = readiness_now(group(verbs(planned="unknown"), watches=outcomes, begun=begun))
    assert found.outdated is outdated
    assert found.of("planned_failover").answer == "unknown"
    assert not found.moving


@pytest.mark.parametrize("name", sorted(WATCHES.keys() - {"health", "readiness"}))
def test_a_watch_that_looked_before_the_last_move_is_never_good(name: WatchName) -> None:
    """Where the preflight has asked the clusters since, it only warns."""
    moved = {"run": "manual__2", "active": "east", "recorded_at": (NOON + timedelta(seconds=60)).isoformat()}
    seen = NOON + timedelta(seconds=120)
    watches = {each: KeptResult("orders", each, "ok", (), seen) for each in WATCHES}
    watches["readiness"] = replace(watches["readiness"], facts=facts_of(verbs()))
    watches["health"] = replace(watches["health"], facts=moved)
    assert readiness_now(watched_group("orders", watches, seen)).of("planned_failover").answer == "ready"
    watches[name] = replace(watches[name], looked_at=NOON)
    found = readiness_now(watched_group("orders", watches, seen)).of("planned_failover")
    assert (found.answer, [each.name for each in found.open]) == ("ready_with", [f"watch {WATCHES[name].dag_id}"])


@pytest.mark.parametrize("register", [{}, {"recorded_at": "soon", "run": "x"}, {"recorded_at": None, "run": "x"}])
def test_a_health_result_that_does_not_say_when_the_register_changed_changes_no_answer(register: Any) -> None:
    assert answers(register=register)[0] == "ready"


def test_a_group_that_was_never_asked_is_unknown() -> None:
    found = readiness_now(watched_group("orders", {}, NOON))
    assert set(found.answers.values()) == {"unknown"}
    assert found.asked_at is None
    assert_sentence(found.verbs[0].open[0].detail)


@pytest.mark.parametrize("name", [name for name in WATCHES if name != "readiness"])
def test_a_watch_that_does_not_know_makes_a_planned_failover_unknown_and_only_warns_of_a_disaster(
    name: WatchName,
) -> None:
    assert answers(watches={name: "unknown"}) == ["unknown", "ready_with", "not_needed"]
    assert answers(watches={name: "left_alone"}) == ["unknown", "ready_with", "not_needed"]


@pytest.mark.parametrize("name", [name for name in WATCHES if name != "readiness"])
def test_a_watch_that_left_the_group_alone_while_it_moved_only_warns_when_the_clusters_were_asked_since(
    name: WatchName,
) -> None:
    later = NOON + timedelta(seconds=40)
    assert answers(at=later, watches={name: "left_alone"})[:2] == ["ready_with", "ready_with"]
    assert answers(at=NOON, watches={name: "left_alone"})[0] == "unknown"
    assert answers(verbs(planned="failed"), at=later, watches={name: "left_alone"})[0] == "not_ready"
    assert answers(at=later, watches={name: "unknown"})[0] == "unknown"


def test_a_red_flow_stops_a_planned_failover_and_a_red_canary_warns() -> None:
    assert answers(watches={"flows": "failed"}) == ["not_ready", "ready_with", "not_needed"]
    assert answers(watches={"canary": "failed"}) == ["ready_with", "ready_with", "not_needed"]


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"verbs": "ready"},
        {"verbs": []},
        {"verbs": [5]},
        {"verbs": [{"verb": "planned_failover", "checks": [], "expected": []}]},
        {"verbs": [{"verb": "planned_failover"}] * 3},
        {"verbs": [{**each.to_json(), "verb": "fly"} for each in verbs()]},
        {"verbs": [{**each.to_json(), "checks": [{**check().to_json(), "outcome": "fine"}]} for each in verbs()]},
        {"verbs": [{**each.to_json(), "checks": [{**check().to_json(), "since": "2026-03-01"}]} for each in verbs()]},
        {"verbs": [{**each.to_json(), "checks": [{**check().to_json(), "since": 5}]} for each in verbs()]},
        {"verbs": [{**each.to_json(), "checks": []} for each in verbs()]},
    ],
)
def test_a_stored_answer_that_is_damaged_is_unknown(facts: Any) -> None:
    assert set(answers(facts=facts)) == {"unknown"}


@given(
    st.lists(st.sampled_from(OUTCOMES), max_size=4),
    st.dictionaries(st.sampled_from(sorted(WATCHES)), st.sampled_from(["ok", "failed", "unknown", "left_alone"])),
)
def test_whatever_is_not_known_is_never_green(outcomes: list[str], watches: Any) -> None:
    checks = tuple(check(cast("CheckOutcome", each), f"check {n}") for n, each in enumerate(outcomes))
    planned = readiness_now(group((replace(verbs()[0], checks=checks), *verbs()[1:]), watches=watches)).verbs[0]
    others = {outcome for name, outcome in watches.items() if name != "readiness"}
    if planned.answer == "ready":
        assert outcomes
        assert set(outcomes) == {"ok"}
        assert others <= {"ok"}
    if "unknown" in outcomes or not outcomes or others & {"unknown", "left_alone"}:
        assert planned.answer in ("unknown", "not_ready")


def test_a_check_says_since_when_it_is_so() -> None:
    hour = timedelta(hours=1)
    first = judged(verbs(planned="failed"), None, NOON)
    second = judged(verbs(planned="failed"), facts_of(first), NOON + hour)
    third = judged(verbs(), facts_of(second), NOON + 2 * hour)
    assert [found[0].checks[0].since for found in (first, second, third)] == [NOON, NOON, NOON + 2 * hour]
    assert verbs_in(json.loads(json.dumps(facts_of(third)))) == third
    damaged = judged(verbs(), {"verbs": "x"}, NOON)
    assert damaged[0].checks[0].since == NOON


def test_the_score_counts_what_is_not_known_as_not_ok() -> None:
    checks = (check(), check("unknown", "b"), check("warning", "c"), check(name="d"))
    assert VerbReadiness("planned_failover", checks).score == 50
    assert VerbReadiness("planned_failover", ()).score == 0
    assert verbs()[2].score is None
