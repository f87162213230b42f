"""The benchmark of the status page measures a page that shows every group and its results."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from lab.bench.metrics import keep_results
from lab.bench.page import status_page

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_the_page_that_is_measured_has_every_group_with_its_answers(tmp_path: Path) -> None:
    keep_results(tmp_path, ["a", "b"], NOON)
    page = status_page(tmp_path, ["a", "b"], NOON)
    assert "WELL: 2 protection groups: every group is well" in page
    assert page.count("Can it be moved to west now?") == 2
    assert page.count('<span class="badge good">MOVED</span>') == 10
