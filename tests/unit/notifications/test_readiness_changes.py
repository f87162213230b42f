"""Readiness that is lost or regained is notified once; a run that moves the group has words of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.notifications.notification import Notification
from kafka_dr.notifications.readiness_changes import KnownReadiness, ToldReadiness, readiness_changes
from kafka_dr.readiness.judge import readiness_now
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON, REGISTER, all_kept, kept


def watched(**changed: Any) -> Any:
    """Return a group of which every watch is good, but these."""
    found: Any = {**all_kept("orders"), **changed}
    return watched_group("orders", found, NOON)


HEALTHY = watched()
EAST_SILENT = watched(health=kept("orders", "health", outcome="unknown", sentences=("east does not answer",)))
FLOW_STOPPED = watched(flows=kept("orders", "flows", outcome="failed", sentences=("the flow is stopped",)))
HELD = watched(health=kept("orders", "health", outcome="left_alone", facts={**REGISTER, "held": True}))
MOVED = watched(
    health=kept("orders", "health", facts={**REGISTER, "recorded_at": (NOON + timedelta(minutes=1)).isoformat()})
)
NEVER_ASKED = watched(readiness=None)


def told(*looks: Any) -> list[Notification]:
    """Return what is notified when these looks follow each other, one a minute."""
    known: dict[str, KnownReadiness] = {}
    found: list[Notification] = []
    for minute, each in enumerate(looks):
        known, news = readiness_changes([readiness_now(each)], known, NOON + timedelta(minutes=minute))
        found += news
    return found


def test_a_cluster_that_falls_silent_is_notified_once_and_so_is_its_return() -> None:
    lost, regained = told(HEALTHY, EAST_SILENT, EAST_SILENT, EAST_SILENT, HEALTHY, HEALTHY)
    assert (lost.occasion, lost.happened) == ("readiness_lost", "Could we fail over now? UNKNOWN")
    assert lost.details == ("planned failover: unknown: watch dr_health: east does not answer",)
    assert (regained.occasion, regained.details) == ("readiness_regained", ())


def test_what_is_unknown_and_then_refused_is_notified_twice() -> None:
    assert [each.happened for each in told(EAST_SILENT, FLOW_STOPPED, HEALTHY)] == [
        "Could we fail over now? UNKNOWN",
        "Could we fail over now? NO",
        "Could we fail over now? yes, again",
    ]


def test_a_first_answer_that_is_good_is_no_news_and_without_one_nothing_is_said() -> None:
    assert told(HEALTHY) == []
    assert told(NEVER_ASKED, NEVER_ASKED) == []


@pytest.mark.parametrize("moving", [HELD, MOVED])
def test_a_run_that_moves_the_group_changes_nothing_that_was_notified(moving: Any) -> None:
    assert told(HEALTHY, moving, moving, HEALTHY) == []
    assert [each.occasion for each in told(FLOW_STOPPED, moving, FLOW_STOPPED, HEALTHY)] == [
        "readiness_lost",
        "readiness_regained",
    ]


def test_what_was_notified_survives_a_process_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    kept_there = ToldReadiness(tmp_path)
    assert kept_there.read() == {}
    kept_there.write({"orders": "not_ready"})
    assert ToldReadiness(tmp_path).read() == {"orders": "not_ready"}
    path = tmp_path / "notifications" / "readiness.json"
    path.write_text(path.read_text().replace("not_ready", "fine"))
    with pytest.raises(DocumentDamaged):
        kept_there.read()


def test_a_held_group_whose_result_is_old_is_not_taken_for_moving() -> None:
    old = watched(
        health=replace(kept("orders", "health", facts={**REGISTER, "held": True}), looked_at=NOON - timedelta(hours=1))
    )
    assert not readiness_now(old).moving
    assert readiness_now(HELD).moving
