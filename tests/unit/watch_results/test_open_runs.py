"""Runs that wait for a person: shown until they end, never longer than they can be answered, and never believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.watch_results import OpenRun, OpenRuns

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def asked(run: str = "manual__1", *, at: datetime = NOON) -> OpenRun:
    return OpenRun(
        "orders", run, "dr_planned_failover", "Move orders?", ("alice", "bob"), at, at + timedelta(minutes=15)
    )


def shown(root: Path, at: datetime) -> list[str]:
    return [each.run for each in OpenRuns(with_deadline(root)).read(at)[0]]


def test_a_run_is_open_from_its_question_to_its_end(tmp_path: Path) -> None:
    runs = OpenRuns(with_deadline(tmp_path))
    assert runs.read(NOON) == ((), 0)
    runs.ask(asked())
    runs.ask(asked("manual__0", at=NOON - MINUTE))
    assert shown(tmp_path, NOON) == ["manual__0", "manual__1"]
    runs.answer("orders", "manual__1", "alice")
    (_, found), _ = runs.read(NOON)
    assert (found.answered_by, found.is_waiting(NOON)) == ("alice", False)
    runs.close("orders", "manual__1")
    runs.close("orders", "manual__1")
    runs.answer("orders", "manual__1", "bob")
    assert shown(tmp_path, NOON) == ["manual__0"]


def test_a_question_that_expired_waits_for_nobody_and_is_soon_not_shown(tmp_path: Path) -> None:
    OpenRuns(with_deadline(tmp_path)).ask(asked())
    assert asked().is_waiting(NOON + 15 * MINUTE)
    assert not asked().is_waiting(NOON + 16 * MINUTE)
    assert shown(tmp_path, NOON + 20 * MINUTE) == ["manual__1"]
    assert shown(tmp_path, NOON + 30 * MINUTE) == []


def test_a_run_that_nobody_closed_is_forgotten_and_damaged_files_are_counted_until_the_next_question(
    tmp_path: Path,
) -> None:
    runs = OpenRuns(with_deadline(tmp_path))
    runs.ask(asked())
    runs.answer("orders", "manual__1", "alice")
    folder = tmp_path / "watches" / ".open"
    (folder / "x.json").write_text("{")
    (folder / ".draft.json").write_text("{")
    assert (shown(tmp_path, NOON + timedelta(hours=5)), runs.read(NOON)[1]) == (["manual__1"], 1)
    assert shown(tmp_path, NOON + timedelta(hours=25)) == []
    runs.ask(asked("manual__2", at=NOON + timedelta(hours=25)))
    assert [path.name for path in folder.glob("[!.]*")] == [runs._file("orders", "manual__2").path.name]


def test_a_dry_run_is_open_until_its_end_and_waits_for_nobody(tmp_path: Path) -> None:
    runs = OpenRuns(with_deadline(tmp_path))
    runs.ask(OpenRun.dry("orders", "manual__3", "dr_planned_failover", "A dry run.", NOON))
    (found,), _ = runs.read(NOON)
    assert (found.dry_run, found.is_waiting(NOON)) == (True, False)
    assert shown(tmp_path, NOON + 59 * MINUTE) == ["manual__3"]
    assert shown(tmp_path, NOON + 61 * MINUTE) == []
    runs.close("orders", "manual__3")
    assert runs.read(NOON) == ((), 0)
