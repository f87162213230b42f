"""Figures over time: the worst of each quarter of an hour, only numbers, and old days go."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.watch_results import FigurePoint, FiguresOverTime, KeptResult, WatchResultStore

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = date(2026, 3, 1)
MINUTE = timedelta(minutes=1)


def canary(root: Path) -> FiguresOverTime:
    return FiguresOverTime(with_deadline(root), "canary")


def test_a_quarter_of_an_hour_keeps_the_worst_value(tmp_path: Path) -> None:
    for minute, seconds in enumerate((1.0, 27.5, 2.0)):
        canary(tmp_path).add(NOON + minute * MINUTE, {"orders": {"rpo_seconds": seconds}}, declared=["orders"])
    canary(tmp_path).add(NOON + 15 * MINUTE, {"orders": {"rpo_seconds": 3}}, declared=["orders"])
    assert canary(tmp_path).of("orders", "rpo_seconds", [DAY]) == (
        FigurePoint(NOON, 27.5),
        FigurePoint(NOON + 15 * MINUTE, 3.0),
    )
    scores = FiguresOverTime(tmp_path, "readiness")
    for score in (100, 80, 90):
        scores.add(NOON, {"orders": {"planned_failover": score}}, declared=["orders"])
    assert scores.of("orders", "planned_failover_score", [DAY]) == (FigurePoint(NOON, 80.0),)


@pytest.mark.parametrize("value", [None, "2", True, float("nan"), float("inf"), [1]])
def test_what_is_no_number_leaves_no_value(tmp_path: Path, value: object) -> None:
    canary(tmp_path).add(NOON, {"orders": {"rpo_seconds": value}}, declared=["orders"])
    assert canary(tmp_path).of("orders", "rpo_seconds", [DAY]) == ()


def test_groups_that_are_not_declared_any_more_and_old_days_are_dropped(tmp_path: Path) -> None:
    old = NOON - timedelta(days=16)
    canary(tmp_path).add(old, {"orders": {"rpo_seconds": 1}}, declared=["orders"])
    canary(tmp_path).add(NOON, {"gone": {"rpo_seconds": 1}}, declared=["gone"])
    canary(tmp_path).add(NOON, {"orders": {"rpo_seconds": 1}}, declared=["orders"])
    assert canary(tmp_path).of("gone", "rpo_seconds", [DAY]) == ()
    assert canary(tmp_path).of("orders", "rpo_seconds", [old.date(), DAY]) == (FigurePoint(NOON, 1.0),)


def test_a_damaged_day_is_refused_by_readers_and_begun_again_by_the_next_look(tmp_path: Path) -> None:
    canary(tmp_path).add(NOON, {"orders": {"rpo_seconds": 1}}, declared=["orders"])
    (path,) = tmp_path.glob("watches/.figures/canary/*.json")
    for damaged in ("{", '{"schema_version":1,"figures":{"orders/rpo_seconds":{"96":1}}}', '{"schema_version":1}'):
        path.write_text(damaged)
        with pytest.raises(DocumentDamaged):
            canary(tmp_path).of("orders", "rpo_seconds", [DAY])
    canary(tmp_path).add(NOON, {"orders": {"rpo_seconds": 2}}, declared=["orders"])
    assert canary(tmp_path).of("orders", "rpo_seconds", [DAY]) == (FigurePoint(NOON, 2.0),)


def test_each_round_adds_what_it_measured_at_the_time_of_each_look(tmp_path: Path) -> None:
    late = KeptResult("late", "lag", "ok", (), NOON - 20 * MINUTE, facts={"seconds": 9})
    now = KeptResult("now", "lag", "ok", (), NOON, facts={"seconds": 1.5})
    WatchResultStore(tmp_path).keep_round("lag", [late, now], declared=["late", "now"])
    figures = FiguresOverTime(tmp_path, "lag")
    assert figures.of("late", "lag_seconds", [DAY]) == (FigurePoint(NOON - 30 * MINUTE, 9.0),)
    assert figures.of("now", "lag_seconds", [DAY]) == (FigurePoint(NOON, 1.5),)
