"""Readiness on real brokers: ready when everything is, and worse for each thing that somebody breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import ResourceType
from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.fencing import plan
from kafka_dr.readiness.judge import verbs_in
from kafka_dr.readiness.model import ReadyVerb, VerbReadiness
from kafka_dr.readiness_checks.look import look_at_readiness
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.request import StepName
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.config_plan import KeptPlan, plan_config, watch_config
from kafka_dr.watch.reconcile_flows import reconcile_flows

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from support.protection import Protection

pytestmark = pytest.mark.kafka

_BOTH: tuple[ReadyVerb, ...] = ("planned_failover", "unplanned_failover")
#: What nothing in these tests provides: audits by Spark, a location of Airflow, vantages, a former failover.
_NOT_PROVIDED = {
    *("checksum_audit", "lag_audit", "verified_rpo", "tried_lately", "vantages_answer", "airflow_is_elsewhere")
}


@pytest.fixture
def clients(protection: Protection) -> Iterator[Clients]:
    """The clients of an adopted group with a flow that runs and has copied everything."""
    with protection.clients() as clients:
        adopt(protection.name, clients, "adoption")
        protection.produce("east", 200)
        reconcile_flows(protection.name, clients)
        protection.wait_copied()
        watch_canary(protection.name, clients)
        yield clients


def verb(watched: WatchResult, name: ReadyVerb) -> VerbReadiness:
    return next(each for each in verbs_in(watched.facts) if each.verb == name)


def open_checks(watched: WatchResult, name: ReadyVerb) -> dict[str, str]:
    return {each.name: f"{each.outcome}: {each.detail}" for each in verb(watched, name).open}


def test_a_group_in_good_order_lacks_only_what_nobody_provides(protection: Protection, clients: Clients) -> None:
    watched = look_at_readiness(protection.name, clients)
    for name in ("planned_failover", "unplanned_failover"):
        found = open_checks(watched, name)
        assert set(found) <= _NOT_PROVIDED, found
    assert verb(watched, "failback").answer == "not_needed"
    asked = {check.name for check in verb(watched, "planned_failover").checks}
    assert {"standby_space", "standby_in_sync", "standby_brokers", "logins_work", "hanging_transactions"} <= asked
    assert {"standby_retention", "standby_partitions", "standby_quotas", "passwords_last"} <= asked
    (expected, *_) = verb(watched, "unplanned_failover").expected
    assert "nothing until" in expected


def test_a_standby_that_takes_writes_or_throttles_and_a_flow_that_stopped_are_named(
    protection: Protection, clients: Clients
) -> None:
    replicator = clients.replicator(protection.flow)
    replicator.stop()
    replicator.wait_stopped(30)
    west = clients.cluster("west", "operator")
    west.acls.remove(plan.standby(protection.group))
    commits = {acl for acl in west.acls.list() if acl.principal == "User:probe" and acl.resource is ResourceType.GROUP}
    limit = (QuotaEntity(user="orders-app"), "producer_byte_rate")
    assert west.quotas.change({limit: 1_000_000.0}) == {}
    west.acls.remove(commits)
    try:
        watched = look_at_readiness(protection.name, clients)
    finally:
        west.quotas.change({limit: None})
        west.acls.add(commits)
    for name in ("planned_failover", "unplanned_failover"):
        throttled = open_checks(watched, name)["standby_quotas"]
        assert "User:orders-app: producer_byte_rate 1,000,000, no limit on the active cluster" in throttled
        lacking = open_checks(watched, name)["rights_granted"]
        assert lacking.startswith("unknown: User:probe lacks READ on group ")
    assert watched.outcome == "failed"
    assert {"flow_moves", "target_refuses"} <= set(open_checks(watched, "planned_failover"))
    assert verb(watched, "planned_failover").answer == "not_ready"
    assert open_checks(watched, "unplanned_failover")["target_refuses"].startswith("failed")
    assert any("not ready" in sentence for sentence in watched.sentences)


def test_a_group_that_a_run_holds_is_not_ready_and_the_run_is_named(protection: Protection, clients: Clients) -> None:
    protection.run_until(protection.request("run-1"), StepName.FENCE_SOURCE, clients)
    watched = look_at_readiness(protection.name, clients)
    found = open_checks(watched, "planned_failover")
    assert list(found) == ["phase"]
    assert "switching by run run-1" in found["phase"]


def test_a_group_that_nobody_adopted_is_not_ready_and_is_left_alone(protection: Protection) -> None:
    with protection.clients() as clients:
        watched = look_at_readiness(protection.name, clients)
    assert "run dr_adopt" in open_checks(watched, "planned_failover")["phase"]
    assert watched.outcome == "left_alone"


def test_readiness_changes_nothing(protection: Protection, clients: Clients) -> None:
    before = {name: clients.cluster(name, "operator").acls.list() for name in ("east", "west")}
    records = {name: clients.register(name).read(protection.name) for name in ("east", "west")}
    look_at_readiness(protection.name, clients)
    assert {name: clients.cluster(name, "operator").acls.list() for name in ("east", "west")} == before
    assert {name: clients.register(name).read(protection.name) for name in ("east", "west")} == records


def test_topics_whose_records_may_be_too_large_for_a_flow_are_named_before_one_is_written(
    protection: Protection, clients: Clients
) -> None:
    for name in ("east", "west"):
        with protection.cluster(name, "admin") as admin:
            assert not admin.configs.set({protection.topic: {"max.message.bytes": str(200 * 1024 * 1024)}})
    watched = look_at_readiness(protection.name, clients)
    said = f"{protection.topic} ({200 * 1024 * 1024:,}) may hold larger ones"
    for verb_name in _BOTH:
        found = open_checks(watched, verb_name)["records_fit"]
        assert found.startswith("warning: a flow copies no record above ")
        assert said in found
    assert any(said in sentence for sentence in watch_config(protection.name, clients).sentences)
    kept = plan_config(protection.name, clients, "plan")
    assert isinstance(kept, KeptPlan)
    assert said in kept.lines[-1]
