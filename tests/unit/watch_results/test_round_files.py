"""The file of a watch with the results of all groups, the changes by day, and when a group is looked at."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from croniter import croniter_range

from kafka_dr.watch_results import (
    ALL_WATCHES,
    WATCHES,
    FlowNow,
    KeptResult,
    OutcomeChanges,
    Pace,
    Watch,
    WatchName,
    WatchOutcome,
    WatchResultStore,
    read_status,
    read_watch_status,
)

#: The watches that look at what a group replicates.
OF_A_FLOW = WATCHES.keys() - {"health", "readiness"}
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def look(group: str, outcome: WatchOutcome, at: datetime) -> KeptResult:
    return KeptResult(group, "health", outcome, (f"it is {outcome}",), at, run="r")


def test_a_round_replaces_its_own_results_and_keeps_those_of_other_declared_groups(tmp_path: Path) -> None:
    store = WatchResultStore(tmp_path)
    store.keep_round("health", [look(name, "ok", NOON) for name in "abc"], declared="abc")
    pairs = store.keep_round("health", [look("a", "failed", NOON + MINUTE)], declared="ab")
    assert [(before and before.outcome, after.outcome) for before, after in pairs] == [("ok", "failed")]
    found = store.read_round("health")
    assert {name: each.outcome for name, each in found.items()} == {"a": "failed", "b": "ok"}
    assert found["a"].history[0].outcome == "ok"


def test_the_newer_of_both_files_counts_and_a_damaged_file_is_unknown_until_it_is_replaced(tmp_path: Path) -> None:
    store = WatchResultStore(tmp_path)
    store.keep_round("health", [look("a", "ok", NOON)], declared="a")
    store.keep(look("a", "failed", NOON + MINUTE))
    found = store.read("a", "health")
    assert found is not None
    assert found.outcome == "failed"
    (tmp_path / "watches" / "health.json").write_text("{}")
    (group,) = read_status("a", store, NOON)
    assert group.of("health").reason.startswith("its kept result cannot be read: ")
    store.keep_round("health", [look("a", "ok", NOON + 2 * MINUTE)], declared="a")
    (group,) = read_status("a", store, NOON + 2 * MINUTE)
    assert group.of("health").outcome == "ok"


def audit(outcome: WatchOutcome, at: datetime, flow: str = "east-to-west") -> KeptResult:
    return KeptResult(
        "a", "checksum", outcome, (f"it is {outcome}",), at, run="r", facts={"flow": flow} if flow else {}
    )


def health(active: str) -> KeptResult:
    return KeptResult("a", "health", "ok", (), NOON + 10 * MINUTE, facts={"active": active})


def test_what_an_audit_has_proven_stays_while_a_later_look_compares_nothing(tmp_path: Path) -> None:
    store = WatchResultStore(tmp_path)
    store.keep_round("checksum", [audit("left_alone", NOON, "")], declared="a")
    store.keep(audit("ok", NOON + MINUTE))
    assert store.keep_round("checksum", [audit("left_alone", NOON + 2 * MINUTE, "")], declared="a") == []
    store.keep(audit("left_alone", NOON + 3 * MINUTE, ""))
    (group,) = read_status("a", store, NOON + 4 * MINUTE)
    assert (group.of("checksum").outcome, group.of("checksum").reason) == ("ok", "")
    old = audit("left_alone", NOON + timedelta(hours=2), "")
    store.keep_round("checksum", [old], declared="a")
    assert store.read_round("checksum")["a"].outcome == "left_alone"


def test_the_audit_of_a_failback_counts_before_the_next_audit_of_the_schedule(tmp_path: Path) -> None:
    store = WatchResultStore(tmp_path)
    store.keep_round("checksum", [audit("ok", NOON)], declared="a")
    store.keep(audit("ok", NOON + MINUTE, "west-to-east"))
    store.keep_round("health", [health("west")], declared="a")
    (group,) = read_status("a", store, NOON + 10 * MINUTE)
    found = group.of("checksum").result
    assert found is not None
    assert (group.of("checksum").outcome, found.facts["flow"]) == ("ok", "west-to-east")


def test_an_audit_of_the_flow_before_a_failover_says_nothing_about_the_flow_after_it(tmp_path: Path) -> None:
    store = WatchResultStore(tmp_path)
    store.keep_round("checksum", [audit("ok", NOON)], declared="a")
    store.keep_round("health", [health("west")], declared="a")
    (group,) = read_status("a", store, NOON + 10 * MINUTE)
    assert group.of("checksum").outcome == "unknown"
    alone = read_watch_status("a", "checksum", store, NOON + 10 * MINUTE, flow=FlowNow("west"))
    assert alone.outcome == "unknown"
    assert read_watch_status("a", "checksum", store, NOON + 10 * MINUTE, flow=FlowNow("east")).outcome == "ok"


def moved(at: datetime, epoch: int, **more: object) -> KeptResult:
    """Return what health keeps of a record that was written then, as the flow from east to west."""
    facts = {"phase": "stable", "active": "east", "standby": "west", "run": "r", "verb": "failback", "held": False}
    facts |= {"epoch": epoch, "recorded_at": at.isoformat(), **more}
    return KeptResult("a", "health", "ok", (), NOON + 20 * MINUTE, facts=facts)


@pytest.mark.parametrize("watch", sorted(OF_A_FLOW))
@pytest.mark.parametrize("flow", ["east-to-west", ""])
def test_no_result_from_before_two_moves_says_anything_of_the_same_flow_after_them(
    tmp_path: Path, watch: WatchName, flow: str
) -> None:
    store = WatchResultStore(tmp_path)
    found = KeptResult("a", watch, "ok", ("all equal",), NOON + 10 * MINUTE, facts={"flow": flow} if flow else {})
    store.keep_round(watch, [found], declared="a")
    store.keep_round("health", [moved(NOON, 3)], declared="a")
    (group,) = read_status("a", store, NOON + 11 * MINUTE)
    assert group.of(watch).outcome == "ok"
    store.keep_round("health", [moved(NOON + 15 * MINUTE, 7)], declared="a")
    (group,) = read_status("a", store, NOON + 11 * MINUTE)
    assert (group.of(watch).outcome, group.of(watch).before_move) == ("unknown", True)
    assert "a run has changed the group at 2026-03-01 12:15 UTC" in group.of(watch).reason
    unread = KeptResult("a", "health", "unknown", ("no register answers",), NOON + 21 * MINUTE)
    store.keep_round("health", [unread], declared="a")
    (group,) = read_status("a", store, NOON + 11 * MINUTE)
    assert group.of(watch).outcome == "unknown"


def test_the_audit_that_a_failback_made_hides_no_older_result_and_counts_when_the_failback_has_ended(
    tmp_path: Path,
) -> None:
    """It is older than the record that ends its run, and proves the flow that the run has made."""
    store = WatchResultStore(tmp_path)
    store.keep_round("checksum", [audit("unknown", NOON, "")], declared="a")
    held = moved(NOON + MINUTE, 7, phase="diverged", held=True)
    store.keep_round("health", [held], declared="a")
    store.keep(audit("ok", NOON + 5 * MINUTE, "east-to-west"))
    store.keep_round("health", [moved(NOON + 6 * MINUTE, 7)], declared="a")
    (group,) = read_status("a", store, NOON + 7 * MINUTE)
    assert (group.of("checksum").outcome, group.of("checksum").reason) == ("ok", "")


def test_each_change_is_in_the_file_of_its_day_and_old_days_are_removed(tmp_path: Path) -> None:
    store = WatchResultStore(tmp_path)
    for minute, outcome in enumerate(("ok", "ok", "failed", "failed", "ok")):
        store.keep_round("health", [look("a", outcome, NOON + minute * MINUTE)], declared="a")  # type: ignore[arg-type]
    changes = OutcomeChanges(tmp_path, "health")
    assert [(each.before, each.after) for each in changes.of(date(2026, 3, 1))] == [
        ("", "ok"),
        ("ok", "failed"),
        ("failed", "ok"),
    ]
    store.keep_round("health", [look("a", "unknown", NOON + timedelta(days=40))], declared="a")
    assert changes.of(date(2026, 3, 1)) == ()


def test_a_slower_pace_is_looked_at_less_often_and_its_result_counts_longer() -> None:
    canary = WATCHES["canary"]
    last = NOON + timedelta(seconds=50)
    assert canary.is_due("normal", last, NOON + MINUTE)
    assert not canary.is_due("idle", last, NOON + 4 * MINUTE)
    assert canary.is_due("idle", last, NOON + 5 * MINUTE)
    assert canary.is_due("idle", None, NOON)
    slow = replace(look("a", "ok", NOON), every=timedelta(minutes=5))
    assert not slow.is_old(NOON + 14 * MINUTE)
    assert slow.is_old(NOON + 16 * MINUTE)


def test_a_dag_runs_as_often_as_its_quickest_group_and_health_each_minute() -> None:
    assert WATCHES["flows"].cron(["idle", "quick"]) == "* * * * *"
    assert WATCHES["flows"].cron([]) == "1-59/5 * * * *"
    assert WATCHES["offsets"].cron(["idle"]) == "9 */2 * * *"
    assert {WATCHES["health"].cron([pace]) for pace in ("quick", "normal", "idle")} == {"* * * * *"}


def fires(cron: str) -> set[datetime]:
    """Return when a schedule begins within a day, judged by the library that Airflow uses."""
    return set(croniter_range(NOON, NOON + timedelta(days=1), cron))


@pytest.mark.parametrize("watch", ALL_WATCHES.values(), ids=lambda watch: watch.name)
@pytest.mark.parametrize("pace", ["quick", "normal", "idle"])
def test_a_group_is_due_exactly_when_the_schedule_of_its_own_pace_begins(watch: Watch, pace: Pace) -> None:
    day = [NOON + minute * MINUTE for minute in range(24 * 60 + 1)]
    assert {now for now in day if watch.is_due(pace, now - MINUTE / 2, now)} == fires(watch.cron([pace]))


def test_what_reads_many_records_or_all_settings_never_begins_in_the_same_minute() -> None:
    heavy = [fires(WATCHES[name].cron(["normal"])) for name in ("checksum", "lag", "offsets", "config_sync")]
    assert len(set.union(*heavy)) == sum(map(len, heavy))
