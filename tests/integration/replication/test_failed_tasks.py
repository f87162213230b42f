"""A flow whose task has failed: everything that names it says why, the cause first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.runs.uncopyable_records import WAY_OUT
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from lab.api import Lab
from support import mirrormaker, outside_view
from support.protection import Protection
from support.waiting import eventually

pytestmark = pytest.mark.kafka


BAD_TIME = "its time, -5000 ms, is before 1970"


def record(value: bytes, *, key: bytes | None = b"k", timestamp_ms: int | None = None, partition: int = 0) -> NewRecord:
    return NewRecord(TopicPartition("", partition), key, value, timestamp_ms=timestamp_ms)


def write(protection: Protection, *records: NewRecord) -> None:
    with protection.cluster("east", rights.ORDERS_APP) as east:
        wanted = [replace(each, partition=each.partition._replace(topic=protection.topic)) for each in records]
        east.writing.append(wanted)


def looked_at(protection: Protection) -> tuple[str, ...]:
    """Return what health, preflight and dr_flows say of the group."""
    with protection.clients() as clients:
        health = " ".join(check_health(protection.name, clients).sentences)
        try:
            run_step(StepName.PREFLIGHT, protection.request(f"look-{uuid4().hex[:6]}"), clients)
            preflight = "ok"
        except StepFailed as refused:
            preflight = str(refused)
        flows = " ".join(reconcile_flows(protection.name, clients).sentences)
    return health, preflight, flows


@pytest.fixture
def flowing(lab: Lab, tmp_path: Path) -> Iterator[Protection]:
    protection = Protection(lab, tmp_path, partitions=1)
    protection.create()
    protection.adopt()
    yield protection
    protection.delete_flows()


@pytest.mark.long
def test_the_cause_is_named_by_whoever_looks_at_the_flow(flowing: Protection) -> None:
    with flowing.cluster("west", "admin") as west:
        assert not west.configs.set({flowing.topic: {"cleanup.policy": "compact"}})
    write(flowing, record(b"no key", key=None))
    with flowing.clients() as clients:
        mirrormaker.connect(clients, "west").wait_for(flowing.flow.name, "failed", deadline_seconds=60)
    for said in looked_at(flowing):
        cause, outer = (
            said.find("Compacted topic cannot accept message without key"),
            said.find("Failed to flush offsets"),
        )
        # Which of Connect's exceptions is the outer one depends on what its task does at that moment.
        assert cause > 0, said
        assert outer < 0 or cause < outer, said
        assert f"{flowing.topic}-0 offset 0 (its key is missing, and the topic is compacted there)" in said, said


@pytest.mark.long
def test_a_record_before_1970_is_named_and_the_runbook_gets_the_flow_past_it(flowing: Protection) -> None:
    write(flowing, *(record(b"%d" % n) for n in range(5)), record(b"odd", timestamp_ms=-5000), record(b"last"))
    connector, partition = flowing.flow.name, TopicPartition(flowing.topic, 0)
    with flowing.clients() as clients:
        connect = mirrormaker.connect(clients, "west")
        connect.wait_for(connector, "failed", deadline_seconds=60)
        for said in looked_at(flowing):
            assert f"{partition} offset 5 ({BAD_TIME}" in said, said
            assert WAY_OUT in said

        # As the runbook says.
        config = connect.config(connector) or {}
        connect.update(connector, {**config, "source.consumer.max.poll.records": "1"})
        replicator = clients.replicator(flowing.flow)

        eventually(lambda: replicator.positions().get(partition) == 5, seconds=60)
    admin = AdminClient(flowing.lab.client_settings("east", "admin"))
    for deleted in admin.delete_records([ClientPartition(partition.topic, 0, 6)]).values():
        deleted.result(20)
    with flowing.clients() as clients:
        assert "source.consumer.max.poll.records" in " ".join(reconcile_flows(flowing.name, clients).sentences)
        eventually(lambda: clients.replicator(flowing.flow).positions().get(partition) == 7, seconds=60)
        assert reconcile_flows(flowing.name, clients).outcome == "ok"
        assert mirrormaker.connect(clients, "west").config(connector) == config
    values = [content[2] for content in outside_view.contents(flowing, "west")[partition]]
    assert values == [b"0", b"1", b"2", b"3", b"4", b"last"]


def test_limits_and_codec_follow_the_topics_and_a_large_record_is_copied(flowing: Protection) -> None:
    limits = {flowing.topic: {"max.message.bytes": str(32 * 1024 * 1024), "compression.type": "zstd"}}
    for cluster in ("east", "west"):
        with flowing.cluster(cluster, "admin") as admin:
            assert not admin.configs.set(limits)
    write(flowing, record(b"small"))
    with flowing.clients() as clients:
        said = " ".join(reconcile_flows(flowing.name, clients).sentences)
        assert "producer.override.max.request.size" in said, "dr_flows makes the connector follow"
        config = mirrormaker.connect(clients, "west").config(flowing.flow.name) or {}
    assert config["producer.override.max.request.size"] == str(96 * 1024 * 1024)
    assert config["producer.override.compression.type"] == "zstd"
    produced = []
    large = Producer(
        {
            **flowing.lab.client_settings("east", rights.ORDERS_APP),
            "compression.type": "zstd",
            "message.max.bytes": 60_000_000,
        }
    )
    large.produce(
        flowing.topic, b"<row>0000000000</row>" * 950_000, partition=0, on_delivery=lambda e, m: produced.append(e)
    )
    assert large.flush(60) == 0
    assert produced == [None]
    write(flowing, record(b"after"))
    flowing.wait_copied(seconds=60)
    with flowing.clients() as clients:
        assert reconcile_flows(flowing.name, clients).outcome == "ok"
