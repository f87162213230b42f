"""Writes while the fence is added: transactions, new topics, and a principal that no fence stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


class ApplicationTransaction:
    """A transactional application with a transaction open and its records on the brokers.

    :param settles: a consumer group whose offsets the transaction carries
    """

    def __init__(
        self, group: SwitchedGroup, principal: str, transactional_id: str, *, records: int, settles: str = ""
    ) -> None:
        settings = group.protection.lab.client_settings(group.active, principal)
        self._producer = Producer({**settings, "transactional.id": transactional_id, "transaction.timeout.ms": 60_000})
        self._producer.init_transactions(20)
        self._producer.begin_transaction()
        self.values = [f"{transactional_id} {number}".encode() for number in range(records)]
        for value in self.values:
            self._producer.produce(group.protection.topic, key=b"k", value=value, partition=0)
        assert self._producer.flush(20) == 0
        if settles:
            offsets = [ClientPartition(group.protection.topic, 0, 1)]
            metadata = Consumer({**settings, "group.id": settles}).consumer_group_metadata()
            self._producer.send_offsets_to_transaction(offsets, metadata, 20)

    def commits(self) -> bool:
        """Try to commit, and return whether the broker accepted it."""
        try:
            self._producer.commit_transaction(20)
        except KafkaException:
            return False
        return True


def test_open_transactions_end_at_the_fence_and_nothing_that_was_committed_is_lost(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    stray_id = f"stray-{group.name}"
    timing = group.protection.group.timing.model_copy(update={"transaction_grace_seconds": 3.0})
    with _changed(group, timing=timing), _allowed(group, source, "User:orders-app", stray_id):
        request = group.go(StepName.CLAIM)
        prompt = ApplicationTransaction(group, "billing-app", f"{group.name}-prompt", records=5)
        # So many records that the flow cannot count as close to the end.
        late = ApplicationTransaction(group, "billing-app", f"{group.name}-late", records=60)
        stray = ApplicationTransaction(group, "orders-app", stray_id, records=5)
        # Only offsets: no topic of the group shows the transaction, and it would hold back what the drain reads.
        settling = ApplicationTransaction(
            group, "billing-app", f"{group.name}-settling", records=0, settles=f"{group.name}-settlement"
        )
        committed: list[bool] = []
        within_grace = threading.Timer(0.3, lambda: committed.append(prompt.commits()))
        within_grace.start()
        with group.protection.clients() as clients:
            record = run_step(StepName.FENCE_SOURCE, request, clients)
            topics = clients.cluster(source, "operator").topics
            partition = TopicPartition(group.protection.topic, 0)
            assert topics.last_stable_offsets([partition]) == topics.high_watermarks([partition])
        within_grace.join()

        assert committed == [True]
        assert sorted(record.facts["ended_transactions"]) == sorted(
            [f"{group.name}-late", f"{group.name}-settling", stray_id]
        )
        assert not late.commits()
        assert not settling.commits()
        assert not stray.commits()
        with group.protection.clients() as clients:
            resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)

    values = [value for _, _, value, _ in outside_view.contents(group.protection, target)[partition]]
    assert [value for value in values if value in prompt.values] == prompt.values
    assert not set(values) & {*late.values, *stray.values}
    group.assert_at_rest(target)


def test_a_topic_created_in_the_middle_of_a_run_is_copied_or_ends_the_run(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.CLAIM)
    topic = _new_topic(group, source)
    refused = None
    with group.protection.clients() as clients:
        try:
            run_step(StepName.FENCE_SOURCE, request, clients)
            resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
        except StepFailed as failure:
            refused = failure.record
            group.roll_back(request)
    if refused is not None:
        assert refused.step == StepName.FENCE_SOURCE
        assert "then trigger a new run" in refused.detail
        assert topic in refused.detail
    group.assert_at_rest(source if refused else target)

    both = [outside_view.contents(group.protection, cluster)[TopicPartition(topic, 0)] for cluster in (source, target)]
    assert [len(found) for found in both] == [10, 10]


@pytest.mark.long
def test_a_topic_that_the_flow_has_found_in_time_is_copied(group: SwitchedGroup) -> None:
    target = group.standby
    request = group.go(StepName.CLAIM)
    topic = _new_topic(group, group.active)
    group.wait_equal()

    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)

    assert len(outside_view.contents(group.protection, target)[TopicPartition(topic, 0)]) == 10
    group.assert_at_rest(target)


def test_an_empty_topic_that_only_the_source_has_ends_the_run(group: SwitchedGroup) -> None:
    source = group.active
    request = group.go(StepName.CLAIM)
    topic = f"{group.name}.empty"
    with group.protection.clients() as clients:
        # The flow would create it within a second; it is stopped so that it does not.
        replicator = clients.replicator(group.flow)
        replicator.stop()
        replicator.wait_stopped(30)
        _create(group, source, topic)
        record = failed(StepName.FENCE_SOURCE, request, clients)

    assert f"{topic}-0 on {source} is missing on {group.standby}" in record.detail
    group.roll_back(request)
    group.assert_at_rest(source)


@pytest.mark.parametrize("step", [pytest.param(StepName.DRAIN, marks=pytest.mark.long), StepName.OPEN_TARGET])
def test_writes_by_a_principal_that_no_fence_stops_are_noticed_before_the_target_is_opened(
    group: SwitchedGroup, step: StepName
) -> None:
    source, target = group.active, group.standby
    request = group.go(STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(step) - 1])
    group.protection.produce(source, 3, principal="admin")

    with group.protection.clients() as clients:
        record = failed(step, request, clients)

    assert f"have moved on {source} since " in record.detail
    assert group.protection.refuses_writes(target)
    group.roll_back(request)
    group.assert_at_rest(source)


def test_fencing_once_more_does_not_hide_what_was_written_past_the_drain(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.CUT_OVER_GROUPS)
    group.protection.produce(source, 3, principal="admin")

    with group.protection.clients() as clients:
        run_step(StepName.FENCE_SOURCE, request, clients)
        record = failed(StepName.OPEN_TARGET, request, clients)

    assert record.outcome == "refused"
    assert f"have moved on {source} since drain, expected none. The new records are not on {target}" in record.detail
    assert group.protection.refuses_writes(target)
    group.roll_back(request)
    group.assert_at_rest(source)


def _new_topic(group: SwitchedGroup, cluster: str) -> str:
    topic = f"{group.name}.new{time.monotonic_ns()}"
    _create(group, cluster, topic)
    settings = group.protection.lab.client_settings(cluster, "orders-app")
    producer = Producer({**settings, "enable.idempotence": True})
    for number in range(10):
        producer.produce(topic, key=b"k", value=b"%d" % number)
    assert producer.flush(20) == 0
    return topic


def _create(group: SwitchedGroup, cluster: str, topic: str) -> None:
    with group.protection.cluster(cluster, "admin") as admin:
        admin.topics.create(topic, partitions=1, replication_factor=1, config={})


@contextmanager
def _changed(group: SwitchedGroup, **changes: object) -> Iterator[None]:
    group.protection.changes = changes
    try:
        yield
    finally:
        group.protection.changes = {}


@contextmanager
def _allowed(group: SwitchedGroup, cluster: str, principal: str, transactional_id: str) -> Iterator[None]:
    allow = Acl(
        ResourceType.TRANSACTIONAL_ID,
        transactional_id,
        PatternType.LITERAL,
        principal,
        AclOperation.WRITE,
        AclPermission.ALLOW,
    )
    with group.protection.cluster(cluster, "admin") as admin:
        admin.acls.add([allow])
        yield
        admin.acls.remove([allow])
