"""The list of the last runs: the newest first, each run once, and short."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.watch_results import RunEnding, RunEndings, read_endings

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def ended(number: int, note: str = "MOVED to west") -> RunEnding:
    return RunEnding(f"run {number}", "dr_planned_failover", note, True, NOON + number * timedelta(minutes=1))


def test_the_newest_run_is_first_and_old_ones_drop_out(tmp_path: Path) -> None:
    for number in range(30):
        RunEndings(tmp_path).keep("orders", ended(number))
    found = RunEndings(tmp_path).read("orders")
    assert found == tuple(ended(number) for number in range(29, 9, -1))


def test_a_run_that_was_continued_has_only_its_newest_ending(tmp_path: Path) -> None:
    RunEndings(tmp_path).keep("orders", ended(1, "NOT FINISHED"))
    RunEndings(tmp_path).keep("orders", ended(2))
    RunEndings(tmp_path).keep("orders", ended(1))
    assert RunEndings(tmp_path).read("orders") == (ended(1), ended(2))


def test_the_steps_of_a_run_are_kept_in_order(tmp_path: Path) -> None:
    steps = {"preflight": 2.0, "claim": 0.5, "approval": 7.25}
    RunEndings(tmp_path).keep("orders", replace(ended(1), steps=steps, measured={"rto_seconds": 9.9}))
    (found,) = RunEndings(tmp_path).read("orders")
    assert (list(found.steps.items()), found.measured) == (list(steps.items()), {"rto_seconds": 9.9})


@pytest.mark.parametrize("content", ["", "[]", '{"schema_version": 1}', '{"schema_version": 1, "runs": [{}]}', "{"])
def test_a_damaged_list_is_an_error_for_its_group_alone_and_is_begun_again(tmp_path: Path, content: str) -> None:
    RunEndings(tmp_path).keep("payments", ended(1))
    path = tmp_path / "watches" / "orders" / "runs.json"
    path.parent.mkdir()
    path.write_text(content)
    found = read_endings(["orders", "payments", "quiet"], RunEndings(tmp_path))
    assert isinstance(found.pop("orders"), DocumentDamaged)
    assert found == {"payments": (ended(1),), "quiet": ()}
    RunEndings(tmp_path).keep("orders", ended(2))
    assert RunEndings(tmp_path).read("orders") == (ended(2),)
