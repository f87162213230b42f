"""A cluster or a Connect that does not answer is unknown, which is never green."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.failover import StepName
from support import onlooker
from support.impatience import ImpatientWorld
from support.switching import Switching, failed

pytestmark = pytest.mark.kafka


def test_preflight_is_unknown_while_the_active_cluster_is_silent(group: Switching) -> None:
    request = group.request()
    with _silent(group, onlooker.broker_of(group.active)), group.protection.world(ImpatientWorld) as world:
        record = failed(StepName.PREFLIGHT, request, world)

    assert record.outcome == "unknown"
    assert f"the register that decides for {group.name} cannot be read" in record.detail


def test_preflight_is_unknown_while_the_standby_is_silent(group: Switching) -> None:
    request = group.request()
    with _silent(group, onlooker.broker_of(group.standby)), group.protection.world(ImpatientWorld) as world:
        record = failed(StepName.PREFLIGHT, request, world)

    assert record.outcome == "unknown"
    assert {check.name: check.outcome for check in record.checks} == {"active_side": "ok", "right_clusters": "unknown"}
    assert f"{group.standby} as dr-operator: could not describe the cluster" in record.detail


def test_preflight_is_unknown_while_connect_is_silent(group: Switching) -> None:
    request = group.request()
    with _silent(group, f"{group.standby}-connect"), group.protection.world(ImpatientWorld) as world:
        record = failed(StepName.PREFLIGHT, request, world)

    outcomes = {check.name: check.outcome for check in record.checks}
    assert record.outcome == "unknown"
    assert outcomes["flow_moves"] == "unknown"
    # What has arrived can be seen without Connect.
    assert outcomes["content_verified"] == "ok"
    assert outcomes["writers_declared"] == "ok"


@contextmanager
def _silent(group: Switching, process: str) -> Iterator[None]:
    """Let a process hang, its connections open."""
    group.protection.lab.pause(process)
    try:
        yield
    finally:
        group.protection.lab.resume(process)
        group.wait_answering()
