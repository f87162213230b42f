"""Flows and canaries on real brokers: fixed and judged while the group is stable, not touched while a run moves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.group_offsets.last_look import FileLookStore
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.request import StepName
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.reconcile_flows import reconcile_flows

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from support.protection import Protection

pytestmark = pytest.mark.kafka


@pytest.fixture
def clients(protection: Protection) -> Iterator[Clients]:
    """The clients of an adopted group whose flow does not exist yet."""
    with protection.clients() as clients:
        adopt(protection.name, clients, "adoption")
        yield clients


def said(watched: WatchResult) -> str:
    return "\n".join(watched.sentences)


def test_a_group_that_is_not_adopted_is_left_alone(protection: Protection) -> None:
    with protection.clients() as clients:
        for look in (reconcile_flows, watch_canary):
            watched = look(protection.name, clients)
            assert watched.outcome == "left_alone"
            assert "not adopted" in said(watched)
        assert clients.replicator(protection.flow).status().state == "absent"


def test_the_flow_of_an_adopted_group_is_set_up_and_moves(protection: Protection, clients: Clients) -> None:
    protection.produce("east", 200)
    watched = reconcile_flows(protection.name, clients)
    assert watched.outcome == "ok", said(watched)
    for word in ("create", "seed", "resume"):
        assert f"{word} {protection.flow.name}" in said(watched)
    protection.wait_copied()
    again = reconcile_flows(protection.name, clients)
    assert again.outcome == "ok"
    assert f"leave {protection.flow.name}" in said(again)


def test_a_flow_that_somebody_stopped_is_resumed_from_its_offsets(protection: Protection, clients: Clients) -> None:
    protection.produce("east", 100)
    reconcile_flows(protection.name, clients)
    protection.wait_copied()
    replicator = clients.replicator(protection.flow)
    before = replicator.positions()
    replicator.stop()
    replicator.wait_stopped(30)
    watched = reconcile_flows(protection.name, clients)
    assert watched.outcome == "ok", said(watched)
    assert f"resume {protection.flow.name}" in said(watched)
    assert all(replicator.positions()[p] >= offset for p, offset in before.items())


def test_canaries_are_replicated_and_judged(protection: Protection, clients: Clients) -> None:
    reconcile_flows(protection.name, clients)
    watched = watch_canary(protection.name, clients)
    assert watched.outcome == "ok", said(watched)
    assert "1 of 1 canaries arrived" in said(watched)


def test_a_look_keeps_how_much_is_usually_written_and_how_long_the_copy_takes(
    protection: Protection, clients: Clients
) -> None:
    reconcile_flows(protection.name, clients)
    kept = FileLookStore(clients.evidence_root, protection.name)
    watch_canary(protection.name, clients)
    first = kept.read(direction := f"{protection.flow.source}-to-{protection.flow.target}")
    protection.produce("east", 200)
    watch_canary(protection.name, clients)
    second = kept.read(direction)
    assert first is not None
    assert second is not None
    assert first.usual_per_second is None
    assert second.usual_per_second == pytest.approx(200 / (second.at - first.at).total_seconds(), rel=0.2)
    assert 0 < (second.copy_lag_seconds or 0) < 60


def test_a_canary_that_cannot_be_replicated_is_never_good(protection: Protection, clients: Clients) -> None:
    watched = watch_canary(protection.name, clients)
    assert watched.outcome == "unknown", said(watched)
    assert "0 of 1 canaries arrived" in said(watched)
    assert f"{protection.flow.name} does not exist" in said(watched)
    assert "trigger dr_flows" in said(watched)
    # No flow has an offset: what waits was not counted, and that is not 0.
    assert "how many records are not copied is not known: in 1 of " in said(watched)


def test_during_a_failover_nothing_is_touched_and_the_old_direction_is_not_restarted(
    protection: Protection, clients: Clients
) -> None:
    protection.produce("east", 50)
    reconcile_flows(protection.name, clients)
    protection.wait_copied()
    request = protection.request("run-1")
    protection.run_until(request, StepName.STOP_FLOW, clients)
    for look in (reconcile_flows, watch_canary):
        watched = look(protection.name, clients)
        assert watched.outcome == "left_alone"
        assert "switching by run run-1" in said(watched)
    # No step waits for that, as applications do.
    assert clients.replicator(protection.flow).wait_stopped(30).state == "stopped"


def test_after_a_failover_only_the_new_direction_runs(protection: Protection, clients: Clients) -> None:
    protection.produce("east", 50)
    reconcile_flows(protection.name, clients)
    protection.wait_copied()
    protection.run_until(protection.request("run-1"), StepName.REPORT, clients)
    old = clients.replicator(protection.flow)
    assert old.status().state == "stopped"
    old.resume()
    old.wait_running(30)
    watched = reconcile_flows(protection.name, clients)
    assert f"stop {protection.flow.name}" in said(watched)
    assert watched.outcome == "ok", said(watched)
    assert old.status().state == "stopped"
    assert clients.replicator(Flow(protection.name, "west", "east")).status().state == "running"
