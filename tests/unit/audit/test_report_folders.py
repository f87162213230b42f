from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from kafka_dr.audit.report_folders import is_report_folder, prune, report_folder
from kafka_dr.storage.deadline_path import with_deadline

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)
WEEK = timedelta(days=7)


def test_only_what_audits_made_and_made_too_long_ago_is_removed(tmp_path: Path) -> None:
    old, last = report_folder(NOW - WEEK - timedelta(seconds=1), "manual__1", 1), report_folder(NOW - WEEK, "x", 2)
    assert old == "20260301T115959Z.manual__1.1"
    for name in (old, last, "notes", "20260101T000000Z"):
        (tmp_path / name / "findings").mkdir(parents=True)
        (tmp_path / name / "report.json").touch()
    (tmp_path / "newest.json").touch()
    assert prune(with_deadline(tmp_path), now=NOW, keep=WEEK) == 1
    assert {path.name for path in tmp_path.iterdir()} == {last, "notes", "20260101T000000Z", "newest.json"}


def test_what_an_audit_keeps_next_to_its_reports_is_no_report() -> None:
    assert is_report_folder(report_folder(NOW, "manual__1", 1))
    assert not any(map(is_report_folder, ("newest.json", "state.json", "window.json", "map")))


def test_what_cannot_be_removed_is_left_and_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / report_folder(NOW - 2 * WEEK, "x", 1)).touch()
    assert prune(with_deadline(tmp_path), now=NOW, keep=WEEK) == 0
    assert prune(with_deadline(tmp_path / "nowhere"), now=NOW, keep=WEEK) == 0


def test_an_object_store_removes_folders_in_its_own_way(tmp_path: Path) -> None:
    from airflow.sdk import ObjectStoragePath

    folder = tmp_path / report_folder(NOW - 2 * WEEK, "x", 1)
    folder.mkdir()
    (folder / "report.json").touch()
    assert prune(with_deadline(ObjectStoragePath(f"file://{tmp_path}")), now=NOW, keep=WEEK) == 1
    assert not folder.exists()
