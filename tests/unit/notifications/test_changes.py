"""What people are news: every change once, nothing while a run holds the group, and never that unknown is good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.notifications.changes import changes_between
from kafka_dr.notifications.notification import Notification
from kafka_dr.topology.notifiers import Occasion
from kafka_dr.watch_results import KeptResult, WatchName, WatchOutcome

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STABLE = {"phase": "stable", "active": "east", "epoch": 3, "run": "r1", "verb": "planned_failover", "held": False}


def news(
    *outcomes: WatchOutcome, watch: WatchName = "canary", facts: list[dict[str, Any]] | None = None
) -> list[Occasion]:
    """Return what is news when a watch finds these outcomes, one a minute."""
    return [each.occasion for each in told(*outcomes, watch=watch, facts=facts)]


def told(*outcomes: WatchOutcome, watch: WatchName, facts: list[dict[str, Any]] | None = None) -> list[Notification]:
    """Return the notifications themselves."""
    found: list[Notification] = []
    before: KeptResult | None = None
    for minute, outcome in enumerate(outcomes):
        at = NOON + timedelta(minutes=minute)
        seen = facts[minute] if facts else {}
        now = KeptResult("orders", watch, outcome, (f"it is {outcome}",), at, facts=seen).after(before)
        found += changes_between(before, now)
        before = now
    return found


def test_a_check_that_turns_red_and_good_again_is_notified_twice() -> None:
    assert news("ok", "failed", "failed", "failed", "ok", "ok") == ["check_red", "check_good"]


def test_what_is_not_known_is_notified_as_red() -> None:
    assert news("ok", "unknown", "ok") == ["check_red", "check_good"]
    assert news("ok", "unknown", "failed", "ok") == ["check_red", "check_red", "check_good"]


def test_a_first_result_is_notified_only_if_it_is_not_good() -> None:
    assert news("ok") == []
    assert news("failed") == ["check_red"]
    assert news("left_alone", "ok") == []


def test_a_watch_that_looks_away_while_a_run_holds_the_group_notifies_nothing() -> None:
    assert news("ok", "left_alone", "left_alone", "ok") == []
    assert news("failed", "left_alone", "failed") == ["check_red"]
    assert news("failed", "left_alone", "ok") == ["check_red", "check_good"]


def test_readiness_is_judged_elsewhere_and_its_watch_alone_notifies_nothing() -> None:
    assert news("ok", "failed", "unknown", "ok", watch="readiness") == []


@given(st.lists(st.sampled_from(["ok", "failed", "unknown", "left_alone"]), max_size=20))
def test_the_last_that_was_notified_is_what_is_true(outcomes: Any) -> None:
    occasions = news(*outcomes)
    judged = [each for each in outcomes if each != "left_alone"]
    if judged and judged[-1] != "ok":
        assert occasions[-1] == "check_red"
    elif occasions:
        assert occasions[-1] == "check_good"


def register(**changes: Any) -> dict[str, Any]:
    return {**STABLE, **changes}


def of_register(*facts: dict[str, Any]) -> list[Occasion]:
    return news(*cast("list[WatchOutcome]", ["ok"] * len(facts)), watch="health", facts=list(facts))


def test_a_switch_is_notified_step_by_step_as_the_register_shows_it() -> None:
    assert of_register(
        register(),
        register(phase="switching", epoch=4, run="r2", held=True),
        register(phase="switching", epoch=4, run="r2", held=True),
        register(phase="handed_over", active="west", epoch=4, run="r2", held=True),
        register(phase="stable", active="west", epoch=4, run="r2"),
    ) == ["run_began", "point_of_no_return", "run_ended"]


def test_a_switch_that_was_over_before_the_next_look_is_notified_as_moved() -> None:
    assert of_register(register(), register(active="west", epoch=4, run="r2")) == ["moved"]


def test_a_roll_back_is_notified() -> None:
    held = register(phase="switching", epoch=4, run="r2", held=True)
    assert of_register(register(), held, register(epoch=5, run="r2", verb="roll_back")) == ["run_began", "rolled_back"]


@pytest.mark.parametrize(
    ("held", "left", "occasion", "said"),
    [
        ({"phase": "diverged", "verb": "failback"}, {"phase": "stable"}, "run_ended", "west is a copy again"),
        ({"phase": "diverged", "verb": "failback"}, {"phase": "diverged", "verb": "roll_back"}, "rolled_back",
         "abandoned: east is active as before, and west is still no copy: failback, run r2"),
        ({"phase": "adopting", "verb": "take_over"}, {"phase": "stable"}, "run_ended", "adopted, active on east"),
        ({"phase": "adopting", "verb": "take_over"}, {"phase": "released", "verb": "roll_back"}, "rolled_back",
         "given back: the group is not adopted: take over, run r2"),
        ({"phase": "releasing", "verb": "un_adopt"}, {"phase": "released"}, "run_ended",
         "released: nothing protects the group any more: release, run r2"),
        ({"phase": "releasing", "verb": "un_adopt"}, {"phase": "stable", "verb": "roll_back"}, "rolled_back",
         "rolled back, still active on east: release, run r2"),
        ({"phase": "switching", "verb": "planned_failover"}, {"phase": "stable", "verb": "roll_back"}, "rolled_back",
         "rolled back, still active on east: planned failover, run r2"),
        ({"phase": "handed_over", "verb": "unplanned_failover"}, {"phase": "unfenced"}, "run_ended",
         "east is active, and west is not fenced yet"),
    ],
)  # fmt: skip
def test_the_end_of_a_run_says_what_is_so_then_and_only_what_was_given_up_is_rolled_back(
    held: dict[str, Any], left: dict[str, Any], occasion: Occasion, said: str
) -> None:
    before = register(standby="west", epoch=4, run="r2", held=True, **held)
    after = {**before, "held": False, "epoch": 5, **left}
    found = told("ok", "ok", watch="health", facts=[before, after])[-1]
    assert (found.occasion, found.happened[: len(said)]) == (occasion, said)


def test_a_roll_back_that_began_and_ended_between_two_looks_is_notified_as_one() -> None:
    assert of_register(register(), register(epoch=5, run="r2", verb="roll_back")) == ["rolled_back"]


def test_a_run_that_begins_right_after_another_one_is_notified() -> None:
    held = register(phase="switching", epoch=4, run="r2", held=True)
    assert of_register(register(), held, register(phase="switching", epoch=6, run="r3", held=True)) == [
        "run_began",
        "run_began",
    ]


def test_a_register_that_could_not_be_read_notifies_nothing_of_a_move() -> None:
    assert of_register(register(), {}, register()) == []
    assert of_register({}, register()) == []
    assert of_register(register(), {}, {}) == []


def test_a_move_during_looks_that_could_not_read_a_register_is_notified_when_one_can_be_read() -> None:
    assert of_register(register(), {}, {}, register(active="west", epoch=4, run="r2")) == ["moved"]
    held = register(phase="switching", epoch=4, run="r2", held=True)
    assert of_register(held, {}, register(active="west", epoch=4, run="r2")) == ["moved"]


def test_the_same_change_has_the_same_name_whoever_saw_it() -> None:
    one, again = (Notification("orders", "moved", NOON, "moved from east to west") for _ in range(2))
    assert one.id == again.id
    assert one.id != Notification("payments", "moved", NOON, "moved from east to west").id


def test_texts_of_clusters_act_neither_in_mail_nor_in_a_template() -> None:
    hostile = "<script>alert(1)</script>\n{{ conn.x.password }}\u202e"
    found = Notification("orders", "check_red", NOON, hostile, (hostile,), "http://x/?a=1&b=<").for_templates()
    assert "<script" not in found["html"]
    assert "\n" not in found["title"]
    assert "\u202e" not in found["text"]


def drilled(*overdue: object) -> list[Occasion]:
    """Return what is news when looks at readiness keep these answers to whether a drill is overdue."""
    facts = [{"drill": {"overdue": each, "every_days": 30, "last": None}} for each in overdue]
    good: list[WatchOutcome] = ["ok" for _ in overdue]
    return news(*good, watch="readiness", facts=facts)


def test_a_drill_that_becomes_overdue_is_notified_once() -> None:
    assert drilled(False, True, True, True) == ["drill_overdue"]
    assert drilled(True, True) == ["drill_overdue"]
    assert drilled(True, False, True) == ["drill_overdue", "drill_overdue"]
    assert drilled(False, None, "true") == []


WHOLE: dict[str, Any] = {"fence_missing": []}
MISSING: dict[str, Any] = {"fence_missing": ["west"]}


def of_clusters(*facts: dict[str, Any], outcomes: str = "") -> list[Occasion]:
    """Return what is news when looks of health keep these facts. Each is ok, or F for failed, U for unknown."""
    words: dict[str, WatchOutcome] = {".": "ok", "F": "failed", "U": "unknown", "-": "left_alone"}
    found = [words[each] for each in outcomes or "." * len(facts)]
    return news(*found, watch="health", facts=[register(**each) for each in facts])


def test_a_fence_that_is_not_whole_is_notified_once_and_by_its_own_name() -> None:
    assert of_clusters(WHOLE, MISSING, MISSING, WHOLE, outcomes=".FF.") == ["fence_missing", "check_good"]
    assert of_clusters(MISSING, outcomes="F") == ["fence_missing"]


def test_a_fence_that_is_lost_while_something_else_is_red_is_notified_all_the_same() -> None:
    assert of_clusters(WHOLE, WHOLE, MISSING, WHOLE, outcomes=".FFF") == ["check_red", "fence_missing"]


def test_a_group_that_is_half_moved_is_notified_once_also_while_something_else_is_red() -> None:
    half: dict[str, Any] = {"open_checks": {"half_moved": "failed", "silent": "unknown"}}
    silent: dict[str, Any] = {"open_checks": {"silent": "unknown"}}
    assert of_clusters({}, half, half, {}, outcomes=".FF.") == ["half_moved", "check_good"]
    assert of_clusters(silent, half, outcomes="UF") == ["check_red", "half_moved"]
    assert of_clusters(silent, silent, half, outcomes="FFF") == ["check_red", "half_moved"]


def test_a_look_that_found_nothing_out_does_not_notify_a_missing_fence_again() -> None:
    assert of_clusters(MISSING, {}, MISSING, outcomes="FUF") == ["fence_missing", "check_red", "check_red"]


def test_a_look_that_a_run_disturbed_notifies_no_missing_fence() -> None:
    assert of_clusters({}, MISSING, outcomes=".-") == []


def heard(*answering: str, silent: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"answering": list(answering), "silent": list(silent)}


def test_a_cluster_that_answers_again_is_notified_once_and_in_place_of_the_all_clear() -> None:
    down, up = heard("west", silent=("east",)), heard("east", "west")
    assert of_clusters(up, down, down, up, up, outcomes=".UU..") == ["check_red", "cluster_back"]


def test_a_cluster_that_comes_back_into_something_that_is_red_is_notified_as_well() -> None:
    down, up = heard("west", silent=("east",)), heard("east", "west")
    assert of_clusters(down, up, outcomes="UF") == ["check_red", "check_red", "cluster_back"]


def test_a_cluster_that_comes_back_while_a_run_disturbs_the_look_is_notified() -> None:
    down, up = heard("west", silent=("east",)), heard("east", "west")
    assert of_clusters(down, up, up, outcomes="U-U") == ["check_red", "cluster_back"]


def test_a_cluster_is_not_back_before_it_answers() -> None:
    down, nothing = heard("west", silent=("east",)), heard("west")
    assert of_clusters(down, {}, nothing, outcomes="UUU") == ["check_red"]
    assert of_clusters(down, {}, heard("east", "west"), outcomes="UU.") == ["check_red", "cluster_back"]


def of_canaries(*verdicts: str) -> list[Occasion]:
    words: dict[str, WatchOutcome] = {"on_time": "ok", "unknown": "unknown"}
    found = [words.get(each, "failed") for each in verdicts]
    return news(*found, facts=[{"verdict": each} for each in verdicts])


def test_a_lost_canary_is_notified_once_and_by_its_own_name() -> None:
    assert of_canaries("on_time", "lost", "lost", "on_time") == ["canary_lost", "check_good"]
    assert of_canaries("on_time", "late", "lost") == ["check_red", "canary_lost"]
    assert of_canaries("on_time", "late", "unknown") == ["check_red", "check_red"]


def test_damaged_facts_notify_nothing() -> None:
    assert of_clusters({"silent": "east", "answering": 5}, {"fence_missing": {"a": 1}, "answering": ["e"]}) == []


@pytest.mark.parametrize("occasion", get_args(Occasion))
def test_every_occasion_says_what_it_means_and_what_to_do(occasion: Occasion) -> None:
    found = Notification("orders", occasion, NOON, "it happened")
    assert found.means.endswith(".")
    assert found.todo.endswith(".")
