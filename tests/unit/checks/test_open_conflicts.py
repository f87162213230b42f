"""What a failover of a member's clients says of conflicts: never more than the newest audit knows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.checks.open_conflicts import open_conflicts
from kafka_dr.runs.run import Run
from kafka_dr.watch_results import KeptResult, WatchResultStore

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def run(root: Path, block: str = "shop") -> Run:
    topology = SimpleNamespace(conflict_blocks={"shop": None})
    clients = SimpleNamespace(topology=topology, evidence_root=root)
    declared = SimpleNamespace(member_of=SimpleNamespace(block=block))
    return cast("Run", SimpleNamespace(declared=declared, clients=clients, clock=SimpleNamespace(now=lambda: NOON)))


def kept(root: Path, at: datetime, **facts: Any) -> None:
    found = KeptResult("shop", "conflicts", "failed", ("it was found",), at, run="scheduled__1", facts=facts)
    WatchResultStore(root).keep_round("conflicts", [found], declared={"shop"})


@pytest.mark.parametrize(
    ("certain", "possible", "outcome", "said"),
    [
        (3, 0, "warning", "found 3 certain conflicts and 0 possible ones"),
        (0, 2, "warning", "2 possible ones"),
        (0, 0, "ok", "no conflict"),
    ],
)
def test_the_newest_audit_is_named_with_its_counts(
    tmp_path: Path, certain: int, possible: int, outcome: str, said: str
) -> None:
    kept(tmp_path, NOON - timedelta(minutes=20), certain=certain, possible=possible)
    found = open_conflicts(run(tmp_path))
    assert found.outcome == outcome
    assert said in found.detail


def test_an_old_result_a_damaged_one_and_none_are_not_known_and_stop_nothing(tmp_path: Path) -> None:
    assert "not known" in open_conflicts(run(tmp_path)).detail
    kept(tmp_path, NOON - timedelta(days=1), certain=0, possible=0)
    found = open_conflicts(run(tmp_path))
    assert (found.outcome, "not known" in found.detail) == ("warning", True)
    kept(tmp_path, NOON, certain="many", possible=0)
    assert open_conflicts(run(tmp_path)).outcome == "warning"


def test_a_block_whose_conflicts_nobody_audits_has_nothing_to_say(tmp_path: Path) -> None:
    assert open_conflicts(run(tmp_path, "baskets")).outcome == "ok"
