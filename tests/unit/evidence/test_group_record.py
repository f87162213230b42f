"""What the register says of a group: one answer for every page, with its age where it may not be so any more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from kafka_dr.evidence.group_record import GroupRecord, group_record
from kafka_dr.watch_results import KeptResult, RunEnding
from kafka_dr.watch_results.status import watched_group
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


@pytest.mark.parametrize(
    ("phase", "other"),
    [("stable", "standby"), ("diverged", "old cluster, diverged"), ("unfenced", "old cluster, not fenced")],
)
def test_a_cluster_that_is_no_copy_is_not_called_a_standby(phase: str, other: str) -> None:
    found = record(look(phase=phase))
    assert found.other == other
    assert f"{other} east" in found.said
