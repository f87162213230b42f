"""Which groups a round looks at: those whose pace asks for it, and all of them if somebody triggered the run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.api.datamodels._generated import DagRunType

from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from kafka_dr.watch_results import KeptResult
from kafka_dr_airflow.operators import rounds
from kafka_dr_airflow.operators.health_round import HealthRound
from kafka_dr_airflow.operators.rounds import FlowsRound, RoundOperator

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
NOW = datetime(2026, 3, 1, 12, 4, tzinfo=UTC)


@pytest.fixture
def topology(tmp_path: Path) -> Topology:
    environ = {f"KAFKA_DR_LAB_{name}": "127.0.0.1:1" for name in ("EAST", "WEST", "VANTAGE")}
    return load(TOPOLOGY, environ={**environ, "KAFKA_DR_LAB_HOME": str(tmp_path)})


def due(
    operator: RoundOperator, topology: Topology, run_type: Any, monkeypatch: pytest.MonkeyPatch, *, age: timedelta
) -> list[str]:
    """Return the groups that are due if the one group was looked at so long ago."""
    looked = KeptResult("orders", "flows", "ok", (), NOW - age)
    # A look of just now may be in the interval before, so the time is always the same.
    monkeypatch.setattr(rounds, "datetime", SimpleNamespace(now=lambda zone: NOW))
    monkeypatch.setattr(rounds, "results_of", lambda *_: {"orders": looked})
    return operator.due(topology, {"dag_run": SimpleNamespace(run_type=run_type)})


@pytest.mark.parametrize("run_type", [each for each in DagRunType if each is not DagRunType.SCHEDULED])
def test_a_run_that_somebody_triggered_looks_at_every_group_however_young_its_result_is(
    topology: Topology, run_type: DagRunType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert due(FlowsRound(), topology, run_type, monkeypatch, age=timedelta(seconds=5)) == ["orders"]


@pytest.mark.parametrize("run_type", [DagRunType.SCHEDULED, "scheduled"])
def test_a_scheduled_run_leaves_a_group_alone_that_was_just_looked_at(
    topology: Topology, run_type: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert due(FlowsRound(), topology, run_type, monkeypatch, age=timedelta(seconds=5)) == []
    assert due(FlowsRound(), topology, run_type, monkeypatch, age=timedelta(minutes=5)) == ["orders"]
    assert due(HealthRound(), topology, run_type, monkeypatch, age=timedelta(seconds=5)) == ["orders"]


def test_the_note_of_a_round_says_first_which_group_is_half_moved() -> None:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr_airflow.operators.rounds import _note

    half = WatchResult("z", "failed", ("z is half moved",), {"half_moved": "z is half moved: check west now"})
    found = {"a": WatchResult("a", "failed", ("red",), {"half_moved": ""}), "z": half}
    assert _note(found, ["a", "z"]) == "HALF MOVED: z is half moved: check west now. 2 of 2 groups red: a, z"
