"""Two clusters that are alike, and one change at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.config_sync.plan import Plan, make_plan
from kafka_dr.config_sync.snapshot import Snapshot, TopicConfig
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup
from support.config_snapshots import side

LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


@pytest.fixture(scope="session")
def group() -> ProtectionGroup:
    """The lab's group, with three copies as the clusters of these tests have."""
    found = load(Path(__file__).parents[3] / "include" / "topology.yaml", LAB).group("orders")
    return found.model_copy(update={"flow": found.flow.model_copy(update={"replication_factor": 3})})


@pytest.fixture
def planned(group: ProtectionGroup) -> Callable[..., Plan]:
    """Return what makes a plan, with the group's config_sync changed."""

    def make(active: Snapshot, standby: Snapshot, **config_sync: Any) -> Plan:
        spec = group.config_sync.model_copy(update=config_sync)
        return make_plan(active, standby, group.model_copy(update={"config_sync": spec}), epoch=1)

    return make


@pytest.fixture
def one(planned: Callable[..., Plan]) -> Callable[..., Any]:
    """Return what plans two clusters that differ in one topic, and returns the only row."""

    def only(here: TopicConfig | None, there: TopicConfig | None, standby: Any = None, **config_sync: Any) -> Any:
        sides = [side(name, *([each] if each else [])) for name, each in (("east", here), ("west", there))]
        rows = planned(sides[0], replace(sides[1], **(standby or {})), **config_sync).items
        assert len(rows) == 1, rows
        return rows[0]

    return only
