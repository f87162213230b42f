"""A cluster or a Connect that does not answer is unknown, which is never green."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support import outside_view
from support.protection import Protection
from support.short_timeouts import ShortTimeoutClients
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka
_BEHIND_THE_FENCE = (
    StepName.CUT_OVER_GROUPS,
    StepName.OPEN_TARGET,
    StepName.FLIP_ROUTE,
    StepName.VERIFY,
    StepName.START_REVERSE_FLOW,
)


def test_preflight_is_unknown_while_the_active_cluster_is_silent(group: SwitchedGroup) -> None:
    request = group.request()
    with _silent(group, outside_view.broker_of(group.active)), group.protection.clients(ShortTimeoutClients) as clients:
        record = failed(StepName.PREFLIGHT, request, clients)

    assert record.outcome == "unknown"
    assert f"the register that decides for {group.name} cannot be read" in record.detail


def test_preflight_is_unknown_while_the_standby_is_silent(group: SwitchedGroup) -> None:
    request = group.request()
    with (
        _silent(group, outside_view.broker_of(group.standby)),
        group.protection.clients(ShortTimeoutClients) as clients,
    ):
        record = failed(StepName.PREFLIGHT, request, clients)

    assert record.outcome == "unknown"
    assert {check.name: check.outcome for check in record.checks} == {
        "run_id_is_new": "ok",
        "no_other_run_waits": "excused",
        "approvers": "ok",
        "active_cluster": "ok",
        "right_clusters": "unknown",
    }
    assert f"{group.standby} as dr-operator: could not describe the cluster" in record.detail


def test_preflight_is_unknown_while_connect_is_silent(group: SwitchedGroup) -> None:
    request = group.request()
    with _silent(group, f"{group.standby}-connect"), group.protection.clients(ShortTimeoutClients) as clients:
        record = failed(StepName.PREFLIGHT, request, clients)

    outcomes = {check.name: check.outcome for check in record.checks}
    assert record.outcome == "unknown"
    assert outcomes["flow_moves"] == "unknown"
    # It can be seen without Connect that all records are copied.
    assert outcomes["content_verified"] == "ok"
    assert outcomes["writers_declared"] == "ok"


@pytest.mark.long
def test_connect_that_is_silent_after_the_fence_delays_no_application_and_no_reverse_flow_starts(
    protection: Protection,
) -> None:
    own_group = SwitchedGroup.adopt(protection)
    old, new = own_group.active, own_group.standby
    request = own_group.go(StepName.STOP_FLOW)
    timing = protection.group.timing.model_copy(update={"protect_wait_seconds": 1})
    protection.changes["timing"] = timing
    with _silent(own_group, f"{new}-connect"):
        with protection.clients(ShortTimeoutClients) as clients:
            records = [run_step(step, request, clients) for step in _BEHIND_THE_FENCE]
        assert protection.takes_writes(new)
        assert protection.refuses_writes(old)
    protected = records[-1]
    assert "gave no answer" in protected.facts["flow_pending"]
    assert "replicator_refused" in {check.name for check in protected.proofs}
    assert "RUNNING" not in outside_view.connectors(protection).get(f"dr.{own_group.name}.{new}-to-{old}", "")

    with protection.clients() as clients:
        assert reconcile_flows(own_group.name, clients).outcome == "ok"
    own_group.assert_at_rest(new)


@contextmanager
def _silent(group: SwitchedGroup, process: str) -> Iterator[None]:
    """Let a process hang, its connections open."""
    group.protection.lab.pause(process)
    try:
        yield
    finally:
        group.protection.lab.resume(process)
        group.wait_answering()
