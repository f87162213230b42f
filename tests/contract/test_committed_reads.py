"""What readers of committed records and readers of everything see of transactions: in memory as for real."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from kafka_dr.clusters import ClientSettings, KafkaCluster, OffsetRange, TopicPartition
from support.memory_cluster import MemoryCluster, numbered

if TYPE_CHECKING:
    from lab.api import Lab

_SECONDS = 20


@contextmanager
def real(lab: Lab, topic: str) -> Iterator[KafkaCluster]:
    """Three records; two that are aborted, and the marker; one; two of an open transaction; one more."""
    settings = lab.client_settings("west", "admin")

    def write(count: int, *, ended: str | None = None) -> Producer:
        own: dict[str, Any] = {} if ended is None else {"transactional.id": f"{topic}-{ended}"}
        producer = Producer({**settings, **own})
        if ended is not None:
            producer.init_transactions(_SECONDS)
            producer.begin_transaction()
        for number in range(count):
            producer.produce(topic, f"v{number}".encode(), partition=0)
        assert producer.flush(_SECONDS) == 0
        return producer

    with KafkaCluster("west", ClientSettings.from_librdkafka(settings)) as cluster:
        cluster.topics.create(topic, partitions=1, replication_factor=1, config={})
        write(3)
        write(2, ended="aborted").abort_transaction(_SECONDS)
        # Kafka answers before it has written the marker; who takes the id over waits for that.
        cluster.transactions.take_over([f"{topic}-aborted"])
        write(1)
        left_open = write(2, ended="open")
        write(1)
        yield cluster
        left_open.abort_transaction(_SECONDS)


def in_memory(topic: str) -> KafkaCluster:
    p = TopicPartition(topic, 0)
    records = [each for each in numbered(topic, range(10)) if each.offset != 5]
    return MemoryCluster(
        "west", "W", {topic: [records]}, open_from={p: 7}, opened={p: (7, 8)}, aborted={p: (3, 4)}
    ).as_kafka


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.kafka)])
def written(request: pytest.FixtureRequest) -> Iterator[tuple[KafkaCluster, TopicPartition]]:
    topic = f"payments.{uuid.uuid4().hex[:8]}"
    if request.param == "memory":
        yield in_memory(topic), TopicPartition(topic, 0)
        return
    with real(request.getfixturevalue("lab"), topic) as cluster:
        yield cluster, TopicPartition(topic, 0)


def test_only_who_reads_everything_sees_aborted_records_and_those_of_open_transactions(
    written: tuple[KafkaCluster, TopicPartition],
) -> None:
    cluster, p = written
    assert cluster.topics.last_stable_offsets([p]) == {p: 7}
    assert cluster.topics.high_watermarks([p]) == {p: 10}
    assert [each.offset for each in cluster.log.read({p: OffsetRange(0, 7)})] == [0, 1, 2, 6]
    everything = cluster.log.read({p: OffsetRange(0, 10)}, isolation="read_uncommitted")
    assert [each.offset for each in everything] == [0, 1, 2, 3, 4, 6, 7, 8, 9]


def test_what_an_open_transaction_holds_back_is_counted_apart_from_what_it_may_abort(
    written: tuple[KafkaCluster, TopicPartition],
) -> None:
    cluster, p = written
    found = cluster.held_back.look([p])
    held = found.partitions[p]
    assert (held.offsets, held.not_read) == (OffsetRange(7, 10), 0)
    assert held.acknowledged == (OffsetRange(9, 10),)
    assert held.open_ranges == (OffsetRange(7, 9),)
    assert held.oldest_ms == next(cluster.log.read({p: OffsetRange(9, 10)}, isolation="read_uncommitted")).timestamp_ms
    [holder] = found.holders
    assert holder.transactional_id is not None
    assert holder.transactional_id.endswith("-open")
    said = "1 acknowledged record and 2 records that may still be aborted are held back by the open transaction of "
    assert found.sentence == f"{said}{holder}"
