"""A flow to the old cluster that came back with it is waited for: ``dr_health`` stops it."""

from __future__ import annotations

from threading import Timer
from typing import Literal

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.outcomes import Outcome
from kafka_dr.runs.request import StepName
from support.failback_run import FailbackRun
from support.old_cluster import OldClusterGroup

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("looks", ["in time", "never"])
def test_a_failback_waits_until_dr_health_has_stopped_a_flow_that_came_back(
    left: OldClusterGroup, looks: Literal["in time", "never"]
) -> None:
    protection = left.protection
    left.write("east", 10)
    left.stop_flow()
    left.leave()
    left.fence_on_return()
    timing = protection.group.timing.model_copy(update={"step_deadline_seconds": 30.0 if looks == "in time" else 1.0})
    protection.changes["timing"] = timing
    with protection.clients() as clients:
        clients.replicator(protection.flow).resume()
        clients.replicator(protection.flow).wait_running(30)

    def look() -> None:
        with protection.clients() as clients:
            check_health(protection.name, clients)

    health = Timer(2.0, look)
    if looks == "in time":
        health.start()
    refused = FailbackRun(protection, lambda: None).failed(StepName.PREFLIGHT)
    (found,) = (each for each in refused.checks if each.name == "nothing_flows")
    wanted: Outcome = "ok" if looks == "in time" else "failed"
    assert found.outcome == wanted, found.detail
    assert looks == "in time" or "east-to-west is running. dr_health corrects that" in found.detail
