"""A flow whose task has failed: everything that names it says why, the cause first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.failover.runner import run_step
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from lab.api import Lab
from support.protection import Protection

pytestmark = pytest.mark.kafka


@pytest.fixture
def failing(lab: Lab, tmp_path: Path) -> Iterator[Protection]:
    """A group whose flow has failed: its topic on west is compacted, and a record of east has no key."""
    protection = Protection(lab, tmp_path, partitions=1)
    protection.create()
    protection.adopt()
    with protection.cluster("west", "admin") as west, protection.cluster("east", rights.ORDERS_APP) as east:
        assert not west.configs.set({protection.topic: {"cleanup.policy": "compact"}})
        east.writing.append([NewRecord(TopicPartition(protection.topic, 0), None, b"no key")])
    with protection.clients() as clients:
        clients.connect("west").wait_for(protection.flow.connector, "failed", deadline_seconds=60)
    yield protection
    protection.delete_flows()


def test_the_cause_is_named_by_whoever_looks_at_the_flow(failing: Protection) -> None:
    with failing.clients() as clients:
        health = check_health(failing.name, clients)
        with pytest.raises(StepFailed) as preflight:
            run_step(StepName.PREFLIGHT, failing.request("look"), clients)
        flows = reconcile_flows(failing.name, clients)
    for said in (" ".join(health.sentences), str(preflight.value), " ".join(flows.sentences)):
        cause, outer = said.find("Compacted topic cannot accept message without key"), said.find("ConnectException")
        assert 0 < cause < outer, said
