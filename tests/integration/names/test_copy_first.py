"""Groups read their copies first: after a failover nobody writes to a topic whose copy they have not read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets.unread_copies import ends_of_data
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from lab import rights
from lab.api import Lab
from support.disaster import Disaster, disaster_is_over
from support.dying_process import DyingProcess
from support.named_group import NamedGroup, NamedProtection, named_protection
from support.protection import STEPS_AFTER_APPROVAL
from support.switched_group import SwitchedGroup

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

_AFTER_ROUTE = STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.VERIFY) :]


def adopted(protection: NamedProtection, seconds: int) -> NamedGroup:
    """Adopt a group of two declared topics whose writers wait for readers."""
    flow = protection.group.flow.model_copy(update={"order": "copy_first", "copy_first_seconds": seconds})
    topics = (protection.topic, refunds(protection).topic, protection.group.canary_topic)
    protection.changes |= {"flow": flow, "topics": topics, "topic_prefixes": ()}
    protection.create()
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.create(refunds(protection).topic, partitions=1, replication_factor=1, config={})
    return NamedGroup.adopt_created(protection)


def refunds(protection: NamedProtection) -> TopicPartition:
    return TopicPartition(f"{protection.name}.refunds", 0)


@pytest.fixture
def protection(lab: Lab, tmp_path: Path) -> Iterator[NamedProtection]:
    with named_protection(lab, tmp_path) as made:
        yield made


def prepared(group: NamedGroup) -> None:
    """Write to both topics on east; one group has left something of the payments, another one of the refunds."""
    protection, name, local = group.protection, group.name, group.local
    assert isinstance(protection, NamedProtection)
    group.write("east", (f"e{n}".encode() for n in range(100)))
    protection.produce("east", 30, topic=refunds(protection).topic, partitions=1)
    group.wait_copied()
    copies = {group.copy(n, "west"): 0 for n in range(2)}
    protection.commit("east", f"{name}-payments", {local(0): 7, local(1): 50, **copies})
    refunded, copied = refunds(protection), TopicPartition(f"west.{name}.refunds", 0)
    protection.commit("east", f"{name}-refunds", {refunded: 10, copied: 0})


def step(group: NamedGroup, name: StepName, request: RunRequest) -> StepRecord:
    with group.protection.clients() as clients:
        return run_step(name, request, clients)


def begun(group: NamedGroup, last: StepName) -> RunRequest:
    """Run a planned failover up to and with a step."""
    request = group.request()
    with group.protection.clients() as clients:
        assert all(record.good for record in group.protection.run_until(request, last, clients))
    return request


@contextmanager
def reader(group: NamedGroup, consumer_group: str, topic: str) -> Iterator[Consumer]:
    """Yield the application of a consumer group on west, which reads a topic and its copy."""
    settings = group.protection.lab.client_settings("west", rights.ORDERS_APP)
    consumer = Consumer({**settings, "group.id": consumer_group, "enable.auto.commit": False})
    consumer.subscribe([topic, f"east.{topic}"])
    try:
        yield consumer
    finally:
        consumer.close()


def read(consumer: Consumer, count: int) -> list[tuple[str, bytes | None]]:
    """Read and commit so many records, and return their topics and values."""
    found = list[tuple[str, bytes | None]]()
    deadline = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records"
        if (message := consumer.poll(0.5)) is not None:
            assert message.error() is None, message.error()
            found.append((str(message.topic()), message.value()))
            consumer.commit(message, asynchronous=False)
    return found


def test_a_topic_opens_when_its_copy_is_read_and_no_sooner(protection: NamedProtection) -> None:
    group = adopted(protection, seconds=120)
    prepared(group)
    name, payments, refunded = group.name, group.local(0), refunds(protection)
    request = begun(group, StepName.OPEN_TARGET)
    assert group.active == "west"
    assert group.refused("west", rights.ORDERS_APP, payments)
    with ThreadPoolExecutor(1) as pool:
        flipping = pool.submit(step, group, StepName.FLIP_ROUTE, request)
        with reader(group, f"{name}-refunds", refunded.topic) as consumer:
            values = read(consumer, 20)
        assert {topic for topic, _ in values} == {f"east.{refunded.topic}"}
        deadline = time.monotonic() + 60
        while group.refused("west", rights.ORDERS_APP, refunded):
            assert time.monotonic() < deadline, "the copy of refunds is read, and nobody may write refunds"
            time.sleep(0.1)
        assert group.refused("west", rights.ORDERS_APP, payments), "the copy of payments is not read yet"
        assert not flipping.done()
        with reader(group, f"{name}-payments", payments.topic) as consumer:
            read(consumer, 42)
            assert group.refused("west", rights.ORDERS_APP, payments), "one record is left"
            read(consumer, 1)
        flipped = flipping.result(60)
    assert not group.refused("west", rights.ORDERS_APP, payments)
    proofs = {proof.name: proof.outcome for proof in flipped.proofs}
    assert (proofs["copies_read_first"], proofs["writes_allowed"]) == ("ok", "ok")
    for each in _AFTER_ROUTE:
        record = step(group, each, request)
        assert record.good, record
    facts = record.facts
    assert facts["writes_refused_seconds"] > 1.0, "from the fence until the last topic took writes"


def test_who_does_not_read_is_named_and_each_change_may_be_the_last(protection: NamedProtection) -> None:
    group = adopted(protection, seconds=2)
    prepared(group)
    request = begun(group, StepName.CUT_OVER_GROUPS)
    for each in (StepName.OPEN_TARGET, StepName.FLIP_ROUTE):
        mortal = DyingProcess()
        record = mortal.until_through(partial(step, group, each, request))
        assert mortal.died
        assert record.good
        assert step(group, each, request).outcome == record.outcome
    said = next(proof for proof in record.proofs if proof.name == "copies_read_first")
    assert said.outcome == "warning"
    assert f"{group.name}-payments: at most 43 records" in said.detail
    assert f"{group.name}-refunds: at most 20 records" in said.detail
    assert not group.refused("west", rights.ORDERS_APP, group.local(0))
    for each in _AFTER_ROUTE:
        assert step(group, each, request).good


def test_what_cannot_be_read_delays_writes_and_never_prevents_them(protection: NamedProtection) -> None:
    group = adopted(protection, seconds=2)
    prepared(group)
    request = begun(group, StepName.CUT_OVER_GROUPS)
    with protection.cluster("west", "admin") as admin:
        copies = f"east.{protection.topic_prefix}"
        gone = {acl for acl in admin.acls.list() if acl.principal == "User:audit" and acl.name == copies}
        assert gone
        admin.acls.remove(gone)
        assert step(group, StepName.OPEN_TARGET, request).good
        with pytest.raises(StepFailed, match="writers are not let in on west yet"):
            step(group, StepName.VERIFY, request)
        flipped = step(group, StepName.FLIP_ROUTE, request)
        admin.acls.add(gone)
    said = next(proof for proof in flipped.proofs if proof.name == "copies_read_first")
    assert said.outcome == "warning"
    assert f"{group.name}-payments: not known" in said.detail
    assert not group.refused("west", rights.ORDERS_APP, group.local(0))
    for each in _AFTER_ROUTE:
        assert step(group, each, request).good


def test_nobody_waits_for_copies_that_are_read_and_markers_are_nothing_to_read(protection: NamedProtection) -> None:
    group = adopted(protection, seconds=120)
    group.write("east", (f"e{n}".encode() for n in range(10)))
    group.wait_copied()
    read_all = {**{group.local(n): 5 for n in range(2)}, **{group.copy(n, "west"): 0 for n in range(2)}}
    protection.commit("east", f"{group.name}-head", read_all)
    request = begun(group, StepName.OPEN_TARGET)
    assert not group.refused("west", rights.ORDERS_APP, group.local(0)), "it opens to readers and writers at once"
    flipped = step(group, StepName.FLIP_ROUTE, request)
    assert "copies_read_first" not in {proof.name for proof in flipped.proofs}
    copy = group.copy(0, "east")
    with protection.cluster("west", "admin") as admin:
        found = ends_of_data(admin, {copy: 0})
        assert found[copy] < admin.topics.last_stable_offsets([copy])[copy], "a transaction's marker follows"
        assert ends_of_data(admin, {copy: found[copy]}) == found


@pytest.mark.long
def test_after_a_lost_cluster_writes_wait_as_well(protection: NamedProtection) -> None:
    declared = protection.group
    protection.changes["timing"] = declared.timing.model_copy(update={"confirm_seconds": 0.2})
    protection.changes["disaster"] = declared.disaster.model_copy(update={"probe_seconds": 2.0})
    group = adopted(protection, seconds=120)
    prepared(group)
    disaster = Disaster.of(SwitchedGroup(protection))
    try:
        disaster.look()
        protection.lab.kill(disaster.broker)
        disaster.go(StepName.OPEN_TARGET)
        assert group.refused("west", rights.ORDERS_APP, group.local(0))
        with ThreadPoolExecutor(1) as pool:
            request = disaster.request_of(disaster.state().run)
            flipping = pool.submit(step, group, StepName.FLIP_ROUTE, request)
            with reader(group, f"{group.name}-payments", protection.topic) as consumer:
                read(consumer, 43)
            with reader(group, f"{group.name}-refunds", refunds(protection).topic) as consumer:
                read(consumer, 20)
            flipped = flipping.result(60)
        assert {proof.name: proof.outcome for proof in flipped.proofs}["copies_read_first"] == "ok"
        assert not group.refused("west", rights.ORDERS_APP, group.local(0))
    finally:
        disaster_is_over(disaster)
