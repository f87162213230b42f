"""What the register says of a group: one answer for every page, with its age where it may not be so any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args

import pytest

from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, ReadyVerb, VerbReadiness
from kafka_dr.situations.group_now import group_now
from kafka_dr.situations.group_record import GroupRecord, group_record
from kafka_dr.watch_results import KeptResult, RunEnding, RunningStep
from kafka_dr.watch_results.endings import NOT_BACK
from kafka_dr.watch_results.status import watched_group
from kafka_dr.watch_results.watches import WatchName
from support.kept_metrics import NOON, kept

RECORD: dict[str, Any] = {
    "phase": "stable",
    "active": "west",
    "standby": "east",
    "epoch": 7,
    "verb": "planned_failover",
    "run": "r7",
    "held": False,
    "recorded_at": (NOON - timedelta(hours=1)).isoformat(),
    "approved_by": "alice",
}
READY = facts_of(tuple(VerbReadiness(verb, (ReadinessCheck("asked", "ok", "good"),)) for verb in get_args(ReadyVerb)))
LOOKED = NOON - timedelta(seconds=30)


def look(at: datetime = LOOKED, **changed: Any) -> KeptResult:
    return KeptResult("orders", "health", "ok", (), at, facts={**RECORD, **changed})


def record(health: KeptResult | None, *endings: RunEnding) -> GroupRecord:
    return group_record(watched_group("orders", {"health": health}, NOON).of("health"), endings, NOON)


def ending(at: datetime, **steps: float) -> RunEnding:
    return RunEnding("r8", "dr_planned_failover", "**MOVED** to east", True, at, steps)


def test_a_look_that_missed_the_register_leaves_what_the_last_one_read_with_its_age() -> None:
    missed = KeptResult("orders", "health", "unknown", ("the registers did not answer",), NOON)
    found = record(missed.after(look()))
    assert (found.active, found.standby, found.known) == ("west", "east", False)
    assert found.said.startswith("UNKNOWN now. 30 s ago: Active on west")
    twice = KeptResult("orders", "health", "unknown", (), NOON).after(missed.after(look()))
    assert record(twice).active == "west"
    assert record(kept("orders", "health", facts={})).active == ""


def test_a_run_that_took_the_group_and_ended_after_the_look_makes_its_record_unknown() -> None:
    after, before = NOON - timedelta(seconds=10), NOON - timedelta(seconds=40)
    assert not record(look(held=True, phase="switching"), ending(after, preflight=1.0, claim=1.0)).known
    assert record(look(), ending(before, claim=1.0)).known
    assert record(look(), ending(after, preflight=1.0)).known


def test_a_run_that_ended_or_began_a_step_during_the_look_is_later_than_its_record() -> None:
    slow = look(NOON, read_at=LOOKED.isoformat())
    during = LOOKED + timedelta(seconds=5)
    assert not record(slow, ending(during, claim=1.0)).known
    assert record(slow, ending(LOOKED - timedelta(seconds=1), claim=1.0)).known
    watched = watched_group("orders", {"health": slow}, NOON)
    ended = step(LOOKED - timedelta(seconds=5), ended_at=during, good=True)
    found = group_now(watched, (), (ended,), NOON).record
    assert (found.known, found.changed) == (False, ("r8", NOON))


def moved(at: datetime, **changed: Any) -> RunEnding:
    """Return the end of a run that moved the group to east, with the record that it left."""
    left = RECORD | {"active": "east", "standby": "west", "epoch": 8, "run": "r8", "recorded_at": at.isoformat()}
    return replace(ending(at, claim=1.0), record={**left, "seen_at": at.isoformat(), **changed})


def test_the_end_of_a_run_says_what_the_register_says_before_health_looks_again() -> None:
    at = NOON - timedelta(seconds=10)
    held = look(held=True, phase="switching", epoch=8, run="r8", half_moved="no process", half_moved_run="r8")
    offsets = kept("orders", "offsets", looked_at=LOOKED, facts={"flow": "west-to-east"})
    watched = watched_group("orders", {"health": held, "offsets": offsets}, NOON)
    now = group_now(watched, (moved(at),), (), NOON)
    assert (now.record.active, now.record.standby, now.record.known) == ("east", "west", True)
    assert (now.judgement.name, now.facts.active, now.half_moved) == ("just_ended", "east", "")
    assert (now.watched.of("offsets").outcome, now.watched.of("offsets").before_move) == ("unknown", True)
    unread = group_now(watched_group("orders", {"health": look(held=True)}, NOON), (ending(at, claim=1.0),), (), NOON)
    assert (unread.judgement.name, unread.record.known) == ("just_ended", False), "it does not run any more"


def test_the_end_of_a_run_that_still_holds_the_group_frees_nothing_and_an_older_one_changes_nothing() -> None:
    at = NOON - timedelta(seconds=10)
    held = look(held=True, phase="switching", half_moved="no process continues it", half_moved_run="r8")
    watched = watched_group("orders", {"health": held}, NOON)
    assert group_now(watched, (moved(at, held=True),), (), NOON).half_moved == "no process continues it"
    older = moved(LOOKED - timedelta(seconds=1))
    assert group_now(watched_group("orders", {"health": look()}, NOON), (older,), (), NOON).record.active == "west"
    again = step(NOON - timedelta(seconds=5))
    begun = group_now(
        watched_group("orders", {"health": look()}, NOON), (moved(at),), (replace(again, run="r9"),), NOON
    )
    assert (begun.record.known, begun.judgement.name) == (False, "run_moving")


def test_a_run_that_was_not_put_back_during_the_look_stays_half_moved() -> None:
    def half_moved(at: datetime) -> bool:
        last = RunEnding("r8", "dr_planned_failover", NOT_BACK, False, at, {"claim": 1.0})
        slow = look(NOON, read_at=LOOKED.isoformat())
        return group_now(watched_group("orders", {"health": slow}, NOON), (last,), (), NOON).half_moved_by == "r8"

    assert half_moved(LOOKED + timedelta(seconds=5))
    assert not half_moved(LOOKED - timedelta(seconds=5))


def step(began: datetime, **changed: Any) -> RunningStep:
    holds = {"holds": True, **changed}
    return RunningStep("orders", "r8", "planned_failover", "open_target", began, NOON, "worker:1", **holds)


def test_a_run_that_moves_the_group_since_the_look_makes_its_record_and_its_readiness_unknown() -> None:
    looked: dict[WatchName, KeptResult | Exception | None] = {
        "health": look(),
        "readiness": kept("orders", "readiness", looked_at=NOON - timedelta(seconds=20), facts=READY),
    }
    watched = watched_group("orders", looked, NOON)
    ready, moving = (group_now(watched, (), steps, NOON) for steps in ((), (step(NOON - timedelta(seconds=5)),)))
    assert (ready.record.known, ready.ready.of("unplanned_failover").answer) == (True, "ready_with")
    assert (moving.record.known, moving.ready.of("unplanned_failover").answer) == (False, "unknown")
    assert moving.record.said.startswith("Run r8 changes it now, and dr_health looks again within a minute. Before")
    assert "run r8 has changed the group" in moving.ready.of("planned_failover").open[0].detail
    for other in (step(LOOKED - timedelta(seconds=5)), step(NOON, dry_run=True), step(NOON, holds=False)):
        assert group_now(watched, (), (other,), NOON).record.known, other


@pytest.mark.parametrize(
    ("phase", "other"),
    [("stable", "standby"), ("diverged", "old cluster, diverged"), ("unfenced", "old cluster, not fenced")],
)
def test_a_cluster_that_is_no_copy_is_not_called_a_standby(phase: str, other: str) -> None:
    found = record(look(phase=phase))
    assert found.other == other
    assert f"{other} east" in found.said
