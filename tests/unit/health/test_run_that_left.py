"""What a returned cluster holds is counted by what the run has journaled that left it, and by no other run."""

from __future__ import annotations

from typing import Any

from kafka_dr.health.fence_on_return import run_that_left


def test_the_last_run_that_moved_the_group_away_from_a_cluster_is_found() -> None:
    opened = {"opened": {"at": "2026-03-14T15:09:26+00:00"}}
    history: dict[str, dict[str, Any]] = {
        "adoption": {"flow_seed": {}},
        "run-1": {"claim": {"source": "east", "epoch": 2}, **opened},
        "run-2": {"claim": {"source": "west", "epoch": 1003}, **opened},
        "run-3": {"claim": {"source": "east", "epoch": 2003}, **opened},
        "run-4": {"claim": {"source": "east", "epoch": 3003}},
    }
    assert run_that_left(history, "east") == "run-3"
    assert run_that_left(history, "west") == "run-2"
    assert run_that_left(history, "north") == ""
