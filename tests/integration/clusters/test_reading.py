from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters import (
    ClusterError,
    ClusterUnreachable,
    KafkaCluster,
    NotAuthorized,
    NotFound,
    OffsetRange,
    TopicPartition,
)
from kafka_dr.clusters.writing import NewRecord

pytestmark = pytest.mark.kafka
Topic = Callable[..., str]


def write(admin: KafkaCluster, partition: TopicPartition, *values: bytes) -> tuple[int, ...]:
    return admin.writing.append(NewRecord(partition, None, value) for value in values)


@contextmanager
def open_transaction(admin: KafkaCluster, partition: TopicPartition, *values: bytes) -> Iterator[Any]:
    """Write in a transaction that stays open; it is aborted at the end unless it was ended before."""
    producer = admin._session.producer({"transactional.id": f"t-{partition}"})
    producer.init_transactions(10)
    producer.begin_transaction()
    for value in values:
        producer.produce(partition.topic, value, partition=partition.partition)
    producer.flush(10)
    yield producer
    admin.transactions.take_over([f"t-{partition}"])


def offsets(admin: KafkaCluster, partition: TopicPartition, start: int, end: int, **options: Any) -> list[int]:
    return [record.offset for record in admin.log.read({partition: OffsetRange(start, end)}, **options)]


def test_a_range_yields_its_records_and_nothing_outside(admin: KafkaCluster, topic: Topic) -> None:
    partition = TopicPartition(topic(), 0)
    assert write(admin, partition, *(b"same" for _ in range(5))) == (0, 1, 2, 3, 4)
    assert offsets(admin, partition, 1, 4) == [1, 2, 3]
    assert offsets(admin, partition, 2, 2) == []
    assert offsets(admin, partition, 4, 5) == [4]


def test_short_ranges_of_records_that_are_larger_than_an_answer_are_read_whole(
    admin: KafkaCluster, topic: Topic
) -> None:
    """A broker gives the first partition of an answer more than was asked for, and the others nothing."""
    partitions = [TopicPartition(topic(partitions=6), number) for number in range(6)]
    for partition in partitions:
        write(admin, partition, *(bytes([partition.partition]) * 200_000 for _ in range(3)))
    found = list(admin.log.read({partition: OffsetRange(1, 3) for partition in partitions}))
    assert sorted((record.partition, record.offset) for record in found) == [(p, o) for p in range(6) for o in (1, 2)]
    assert {record.value for record in found} == {bytes([number]) * 200_000 for number in range(6)}


def test_ranges_of_several_partitions_are_read_again_as_they_were(admin: KafkaCluster, topic: Topic) -> None:
    name = topic(partitions=2)
    ranges = {TopicPartition(name, 0): OffsetRange(0, 2), TopicPartition(name, 1): OffsetRange(1, 3)}
    for partition in ranges:
        write(admin, partition, b"a", b"b", b"c", b"d")
    for _ in range(3):
        found = sorted((record.partition, record.offset) for record in admin.log.read(ranges))
        assert found == [(0, 0), (0, 1), (1, 1), (1, 2)]


def test_transaction_markers_and_aborted_records_occupy_offsets_and_are_not_yielded(
    admin: KafkaCluster, topic: Topic
) -> None:
    partition = TopicPartition(topic(), 0)
    with open_transaction(admin, partition, b"0", b"1") as producer:
        producer.commit_transaction(10)
    with open_transaction(admin, partition, b"3") as producer:
        producer.abort_transaction(10)
    write(admin, partition, b"5")
    with open_transaction(admin, partition, b"6") as producer:
        producer.commit_transaction(10)
    assert admin.topics.high_watermarks([partition]) == {partition: 8}
    assert offsets(admin, partition, 0, 8) == [0, 1, 5, 6], "the log ends in a marker"
    assert offsets(admin, partition, 2, 5) == [], "nothing but a marker, an aborted record and its marker"
    assert offsets(admin, partition, 1, 3) == [1], "the range ends in a marker"
    assert offsets(admin, partition, 0, 5, isolation="read_uncommitted") == [0, 1, 3]


def test_an_open_transaction_holds_back_readers_of_committed_records(admin: KafkaCluster, topic: Topic) -> None:
    partition = TopicPartition(topic(), 0)
    write(admin, partition, b"0")
    with open_transaction(admin, partition, b"1") as producer:
        write(admin, partition, b"2")
        assert admin.topics.last_stable_offsets([partition]) == {partition: 1}
        assert admin.topics.high_watermarks([partition]) == {partition: 3}
        with pytest.raises(ClusterUnreachable, match=f"no record of {partition} arrived for 1 s"):
            offsets(admin, partition, 0, 3, stall_seconds=1.0)
        assert offsets(admin, partition, 0, 3, isolation="read_uncommitted") == [0, 1, 2]
        threading.Timer(0.5, producer.commit_transaction, [10]).start()
        assert offsets(admin, partition, 0, 3) == [0, 1, 2], "reading resumes as soon as the transaction has ended"


def test_records_after_a_finished_range_do_not_hide_that_another_range_stalls(
    admin: KafkaCluster, topic: Topic
) -> None:
    name = topic(partitions=2)
    busy, stalled = TopicPartition(name, 0), TopicPartition(name, 1)
    write(admin, busy, b"0")
    over = threading.Event()

    def keep_writing() -> None:
        while not over.is_set():
            write(admin, busy, b"more")

    with open_transaction(admin, stalled, b"0"):
        writer = threading.Thread(target=keep_writing)
        writer.start()
        try:
            with pytest.raises(ClusterUnreachable, match=f"of {stalled}"):
                list(admin.log.read({busy: OffsetRange(0, 1), stalled: OffsetRange(0, 1)}, stall_seconds=1.0))
        finally:
            over.set()
            writer.join()


def test_expired_offsets_are_an_error_and_not_an_empty_range(admin: KafkaCluster, topic: Topic) -> None:
    partition = TopicPartition(topic(), 0)
    write(admin, partition, b"0", b"1", b"2")
    removed = admin._session.admin.delete_records([ClientPartition(partition.topic, 0, 2)])
    admin._session.wait(removed.values(), "delete records")
    assert admin.topics.log_starts([partition]) == {partition: 2}
    with pytest.raises(ClusterError, match=f"could not read {partition}"):
        offsets(admin, partition, 0, 3)
    assert offsets(admin, partition, 2, 3) == [2]


@pytest.mark.parametrize(
    ("principal", "name", "kind"),
    [
        ("dr-operator", "carts.secret", NotAuthorized),
        ("probe", "_kafka_dr.register", NotAuthorized),
        ("dr-operator", "orders.none", NotFound),
    ],
    ids=["may see it, not read it", "may not see it", "is not there"],
)
def test_a_topic_that_cannot_be_read_is_an_error_that_names_it(
    reach: Callable[..., KafkaCluster], admin: KafkaCluster, principal: str, name: str, kind: type[ClusterError]
) -> None:
    if name != "orders.none":
        admin.topics.create(name, partitions=1, replication_factor=1, config={})
    with pytest.raises(kind, match=rf"east as {principal}: could not read {re.escape(name)}"):
        offsets(reach(principal), TopicPartition(name, 0), 0, 1)


@pytest.mark.long
def test_holes_that_compaction_made_are_skipped(admin: KafkaCluster, topic: Topic) -> None:
    name = topic(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_ms="100", delete_retention_ms="0")
    partition = TopicPartition(name, 0)
    for number in range(12):
        admin.writing.append([NewRecord(partition, b"key", str(number).encode())])
        time.sleep(0.12)
    deadline = time.monotonic() + 60
    while offsets(admin, partition, 0, 12)[0] == 0:
        assert time.monotonic() < deadline, "nothing was compacted"
        time.sleep(1)
    assert offsets(admin, partition, 0, 12)[-1] == 11
    assert offsets(admin, partition, 0, 1) == [], "the range is in a hole"
