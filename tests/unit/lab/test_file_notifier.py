from __future__ import annotations

from pathlib import Path

from lab.file_notifier import FileNotifier


def test_the_newest_notification_is_the_first_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "notifications.html"
    for text in ("east is silent", "west is active"):
        FileNotifier(path=str(path), text=text).notify({})
    assert path.read_text("utf-8").splitlines() == ["west is active", "east is silent"]
