"""Adopting a group: a standby that is in use is never fenced, and an interrupted adoption is completed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest
from confluent_kafka import Consumer

from kafka_dr.adoption.adopt import adopt
from kafka_dr.adoption.way import with_canary_topic
from kafka_dr.checks import authorizers
from kafka_dr.clusters.acls import Acls
from kafka_dr.fencing.change import AclChanges
from kafka_dr.group_offsets.other_topics import NAME as READ_ONLY_OWNED
from kafka_dr.register import KafkaRegister
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.routing import Route
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from support import mirrormaker, outside_view
from support.outside_topics import OutsideTopics
from support.protection import Protection
from support.route_file import route_file
from support.switched_group import Killed, dying

pytestmark = pytest.mark.kafka


def test_a_standby_that_holds_records_of_its_own_is_not_fenced(protection: Protection, clients: Clients) -> None:
    protection.produce("west", 10)
    before = outside_view.look(protection)

    record = refused(protection, clients)
    assert protection.takes_writes("west")
    assert outside_view.look(protection) == before
    assert f"{protection.topic}-0, {protection.topic}-1 on west hold records" in record.detail
    assert "If applications write to west, initial_active is wrong" in record.detail

    # Nor does a connector that exists but never copied explain these records.
    clients.replicator(protection.flow).ensure(stopped=True)
    clients.replicator(protection.flow).wait_stopped(30)
    assert "that flow has no offset in them" in refused(protection, clients).detail
    assert protection.takes_writes("west")
    assert protection.state("east") is None


def test_records_that_a_running_flow_copies_between_two_questions_are_not_called_foreign(
    protection: Protection, clients: Clients
) -> None:
    protection.start_flow(clients)
    real = Mm2Replicator.positions
    written: list[int] = []

    def positions(replicator: Mm2Replicator) -> Any:
        found = real(replicator)
        if not written:
            written.append(protection.produce("east", 4))
            protection.wait_copied()
        return found

    with mock.patch.object(Mm2Replicator, "positions", positions):
        assert adopt(protection.name, clients, "adoption").outcome == "done"


def test_a_standby_that_is_read_from_or_replicated_to_the_active_cluster_is_not_fenced(
    protection: Protection, clients: Clients
) -> None:
    back = clients.replicator(Flow(protection.name, "west", "east"))
    with _reading(protection, "west"):
        back.ensure(stopped=False)
        back.wait_running(30)
        before = outside_view.look(protection)

        failed = {check.name for check in refused(protection, clients).checks if check.outcome != "ok"}

        assert failed == {"nobody_reads_on_standby", "flow_back_is_still"}
        assert outside_view.look(protection) == before
    back.stop()
    back.wait_stopped(30)
    assert adopt(protection.name, clients, "once-more").outcome == "done"


def test_a_group_on_brokers_that_do_not_decide_by_acls_is_not_adopted(
    protection: Protection, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorizers, "KAFKAS_OWN", {"AclAuthorizer": authorizers.KAFKAS_OWN["AclAuthorizer"]})
    before = outside_view.look(protection)

    said = refused(protection, clients).detail

    assert "StandardAuthorizer on broker 1 of west: only AclAuthorizer are known to decide by ACLs" in said
    assert outside_view.look(protection) == before


def test_a_group_whose_fences_nobody_here_may_add_is_not_adopted_and_may_be_observed(
    protection: Protection, clients: Clients
) -> None:
    may_change = {who: _may_change_acls(protection, who) for who in (rights.OPERATOR, rights.AUDIT)}
    assert may_change == {rights.OPERATOR: True, rights.AUDIT: False}
    before = outside_view.look(protection)

    with mock.patch.object(Acls, "may_change", return_value=False):
        said = refused(protection, clients).detail

    assert "User:dr-operator lacks ALTER on the cluster east and west, so no DENY can be added there" in said
    assert "With neither, this flow can only be observed: declare it under observed_flows" in said
    assert outside_view.look(protection) == before


def _may_change_acls(protection: Protection, principal: str) -> bool:
    with protection.cluster("west", principal) as reached:
        return reached.acls.may_change()


def test_a_group_that_reads_elsewhere_is_shown_and_does_not_prevent_the_adoption(
    protection: Protection, clients: Clients
) -> None:
    group = f"{protection.name}-both"
    beyond = OutsideTopics.create(protection, "east")
    beyond.commit("east", group, beyond.of_nobody, 0)

    record = adopt(protection.name, clients, "adoption")

    shown = {check.name: check for check in record.checks}[READ_ONLY_OWNED]
    assert (record.outcome, shown.outcome) == ("done", "excused")
    assert shown.detail.startswith("a later failover will be refused: 1 position of 1 consumer groups are outside")
    assert f"{group} reads {beyond.of_nobody}" in shown.detail


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"active": "west"}, "names west (epoch 1), expected east, the initial_active: correct initial_active"),
        ({"epoch": 7}, "expected at most the register's epoch 1, as no failover could switch it"),
        ({"group": "billing"}, "give that group a route of its own in the topology"),
    ],
)
def test_a_route_that_does_not_fit_is_reported_before_anything_is_changed(
    protection: Protection, clients: Clients, changes: dict[str, Any], said: str
) -> None:
    _write_route(protection, **changes)
    before = outside_view.look(protection)

    assert said in refused(protection, clients).detail
    assert outside_view.look(protection) == before


def test_a_connector_that_replicates_already_continues_at_its_offsets(protection: Protection, clients: Clients) -> None:
    _write_route(protection)
    replicator = mirrormaker.connector(clients, protection.flow)
    name = protection.flow.name
    config = {**replicator.config(), "exactly.once.support": "requested"}
    mirrormaker.connect(clients, "west").create(name, {key: value for key, value in config.items() if key != "name"})
    replicator.wait_stopped(30)
    assert (
        f"the connector {name} on the Connect cluster of west exists and is not exactly-once"
        in refused(protection, clients).detail
    )
    assert protection.state("east") is None

    assert replicator.ensure() == "updated"
    replicator.resume()
    protection.produce("east", 50)
    protection.wait_copied()
    record = adopt(protection.name, clients, "taken-over")

    assert record.outcome == "done"
    assert record.facts["seed"]["mode"] == "continue"
    assert protection.refuses_writes("west")
    assert reconcile_flows(protection.name, clients).outcome == "ok"
    protection.produce("east", 10)
    protection.wait_copied()
    assert outside_view.contents(protection, "west") == outside_view.contents(protection, "east")


@pytest.mark.parametrize(
    ("at", "method", "nth"),
    [
        pytest.param(KafkaRegister, "copy", 1, marks=pytest.mark.long),
        (AclChanges, "add", 2),
        pytest.param(KafkaRegister, "write_fact", 1, marks=pytest.mark.long),
    ],
)
def test_an_adoption_that_died_is_completed_by_another_run(
    protection: Protection, at: type, method: str, nth: int
) -> None:
    with protection.clients() as clients, dying(at, method, nth=nth), pytest.raises(Killed):
        adopt(protection.name, clients, "died")

    with protection.clients() as clients:
        completed = adopt(protection.name, clients, "completes")
        assert completed.outcome == "done"
        after = outside_view.look(protection)
        seeds = [clients.register(side).facts(protection.name, "died")["flow_seed"] for side in ("east", "west")]
        assert adopt(protection.name, clients, "for-nothing").outcome == "done"

    assert seeds == [completed.facts["seed"]] * 2
    assert outside_view.look(protection) == after
    assert (after.registers["west"], json.loads(after.route)["active"]) == (after.registers["east"], "east")
    assert protection.takes_writes("east")
    assert protection.refuses_writes("west")


def test_a_standby_that_comes_into_use_while_it_is_fenced_has_its_fence_lifted(
    protection: Protection, clients: Clients
) -> None:
    with _right_before(AclChanges, "add", lambda: protection.produce("west", 2)):
        record = refused(protection, clients)

    assert "A client wrote to west before the fence was in place; the fence was removed" in record.detail
    assert protection.takes_writes("west")
    assert outside_view.denies(protection, "west") == frozenset()


@pytest.fixture
def clients(protection: Protection) -> Iterator[Clients]:
    with protection.clients() as clients:
        yield clients


def refused(protection: Protection, clients: Clients) -> StepRecord:
    """Try to adopt the group, and return why that is refused."""
    with pytest.raises(StepFailed) as failure:
        adopt(protection.name, clients, "adoption")
    assert failure.value.record.outcome in ("refused", "failed")
    return failure.value.record


def _write_route(protection: Protection, **changes: Any) -> None:
    route = {"group": protection.name, "active": "east", "bootstrap_servers": "somewhere:1", "epoch": 1, **changes}
    path = route_file(protection.group)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(Route(at=datetime.now(UTC), **route).to_json()))


@contextmanager
def _reading(protection: Protection, cluster: str) -> Iterator[None]:
    """Let a consumer of the application be a member of its group."""
    settings = protection.lab.client_settings(cluster, rights.ORDERS_APP)
    consumer = Consumer({**settings, "group.id": f"{protection.name}-reader"})
    try:
        consumer.subscribe([protection.topic])
        deadline = time.monotonic() + 30
        while not consumer.assignment():
            assert time.monotonic() < deadline, "the reader was given no partition"
            consumer.poll(0.1)
        yield
    finally:
        consumer.close()


@contextmanager
def _right_before(at: type, method: str, happens: Callable[[], object]) -> Iterator[None]:
    """Do something right before the first call of a method, between a look and a change."""
    real, left = getattr(at, method), [happens]

    def disturbed(*arguments: object, **named: object) -> object:
        if left:
            left.pop()()
        return real(*arguments, **named)

    with mock.patch.object(at, method, disturbed):
        yield


def without_canary_topic(protection: Protection) -> None:
    """Delete it on both clusters."""
    canary = protection.group.canary_topic
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.delete([canary])
            while canary in admin.topics.names():
                time.sleep(0.05)


def test_a_take_over_creates_a_missing_canary_topic_before_its_audit_if_a_person_said_so(
    protection: Protection, clients: Clients
) -> None:
    without_canary_topic(protection)
    request = RunRequest(protection.name, "take-over", reason="a test", verb="take_over")
    before = outside_view.look(protection)
    assert with_canary_topic(request, clients, create=False).outcome == "failed"
    assert with_canary_topic(replace(request, dry_run=True), clients, create=True).outcome == "ok"
    assert outside_view.look(protection) == before
    assert with_canary_topic(request, clients, create=True).outcome == "ok"
    assert "exists" in with_canary_topic(request, clients, create=False).detail


def test_a_missing_canary_topic_is_created_on_both_clusters_only_after_a_person_said_so(
    protection: Protection, clients: Clients
) -> None:
    canary = protection.group.canary_topic
    without_canary_topic(protection)
    before = outside_view.look(protection)
    assert f"to have it created ({canary} on east and west" in refused(protection, clients).detail.lower()
    assert outside_view.look(protection) == before
    planned = adopt(protection.name, clients, "plan", dry_run=True, create_canary_topic=True)
    assert planned.intent[0].startswith(f"create the canary topic: {canary} on east and west")
    assert outside_view.look(protection) == before

    record = adopt(protection.name, clients, "adoption", create_canary_topic=True)

    assert record.facts["canary_topic_created_on"] == ["east", "west"]
    wanted = protection.group.flow.tasks_max
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            assert len(admin.topics.describe([canary])[canary].partitions) == wanted
            assert admin.topics.configs([canary])[canary]["retention.ms"] == "86400000"
    assert protection.refuses_writes("west")
    # What is there is not made again.
    again = adopt(protection.name, clients, "once-more")
    assert (again.outcome, again.facts["canary_topic_created_on"]) == ("done", [])
