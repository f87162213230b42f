"""Partition leaders are asked for write permission without writing."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder as Batch
from kafka.record.util import calc_crc32c

from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    KafkaCluster,
    PatternType,
    ResourceType,
    TopicPartition,
    WriteAnswer,
    WriteVerdict,
    write_permission,
)
from kafka_dr.clusters.large_record import LargeRecord
from support.waiting import eventually

pytestmark = pytest.mark.kafka
FOUR_MEBIBYTES = str(4 * 1024 * 1024)
FOREVER = str(2**63 - 1)
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


def deny(topic: str) -> Acl:
    return Acl(ResourceType.TOPIC, topic, PatternType.LITERAL, "User:probe", AclOperation.WRITE, AclPermission.DENY)


def asked(
    probe: KafkaCluster, topic: str, partitions: int = 3, *, until: WriteVerdict = "allowed"
) -> tuple[WriteAnswer, ...]:
    """Ask all partitions until all answer as expected, for a minute: brokers learn of changes with delay."""
    deadline = time.monotonic() + 60
    while True:
        answers = probe.write_permission.ask(TopicPartition(topic, number) for number in range(partitions))
        if {a.verdict for a in answers} == {until} or time.monotonic() > deadline:
            return answers


def allowed_then_refused(probe: KafkaCluster, admin: KafkaCluster, name: str, open_answer: str) -> None:
    """Check both answers of all three partitions of an empty topic, and that it stays empty."""
    assert {(a.verdict, a.detail) for a in asked(probe, name)} == {("allowed", open_answer)}
    admin.acls.add([deny(name)])
    found = asked(probe, name, until="refused")
    assert [(a.partition.partition, a.verdict, a.detail) for a in found] == [
        (number, "refused", "topic authorization failed") for number in range(3)
    ]
    assert set(admin.topics.high_watermarks(a.partition for a in found).values()) == {0}


@pytest.mark.parametrize(
    "config",
    [
        {"compression_type": "zstd"},
        {"compression_type": "gzip", "cleanup_policy": "compact"},
        {"message_timestamp_type": "LogAppendTime"},
        {"max_message_bytes": FOUR_MEBIBYTES, "message_timestamp_after_max_ms": FOREVER},
        {"max_message_bytes": "1"},
    ],
    ids=["zstd", "gzip, compacted", "append time", "large records of any time", "smaller than the question"],
)
def test_a_leader_says_allowed_then_refused_and_nothing_is_appended(
    reach: Reach, admin: KafkaCluster, topic: Topic, config: dict[str, str]
) -> None:
    small = config.get("max_message_bytes") == "1"
    open_answer = "message size too large" if small else "it would accept a write"
    allowed_then_refused(reach("probe"), admin, topic(partitions=3, **config), open_answer)


def test_all_partitions_of_a_leader_are_asked_in_one_small_request(
    reach: Reach, admin: KafkaCluster, topic: Topic
) -> None:
    probe, name = reach("probe"), topic(partitions=50)
    doing: list[str] = []
    asked(probe, name, 50)
    probe.observe(doing.append)
    with mock.patch.object(LargeRecord, "ask", side_effect=AssertionError("a record was sent")):
        answers = asked(probe, name, 50)
    assert {a.verdict for a in answers} == {"allowed"}
    assert len(answers) == 50
    assert doing.count("ask for a write") == 1
    assert len(write_permission.invalid_batch()) == 69


def test_the_test_write_is_no_record_even_if_a_proxy_corrects_its_crc(
    reach: Reach, admin: KafkaCluster, topic: Topic
) -> None:
    """A proxy that rebuilds batches would correct the CRC; the record must not get into the applications' topic."""
    right = bytearray(write_permission.invalid_batch())
    struct.pack_into(">I", right, Batch.CRC_OFFSET, calc_crc32c(memoryview(right)[Batch.ATTRIBUTES_OFFSET :]))
    assert bytes(right) != write_permission.invalid_batch()
    name = topic(partitions=3)
    with mock.patch.object(write_permission, "invalid_batch", return_value=bytes(right)):
        allowed_then_refused(reach("probe"), admin, name, "message size too large")


def test_an_open_transaction_is_left_as_it_is(reach: Reach, admin: KafkaCluster, topic: Topic) -> None:
    probe, name = reach("probe"), topic(partitions=3)
    partitions = [TopicPartition(name, number) for number in range(3)]
    producer = admin._session.transactional_producer(f"orders-{name}")
    producer.begin_transaction()
    for partition in partitions:
        producer.produce(name, partition=partition.partition, value=b"uncommitted")
    producer.flush(10)
    try:
        assert {a.verdict for a in asked(probe, name)} == {"allowed"}
        admin.acls.add([deny(name)])
        assert {a.verdict for a in asked(probe, name, until="refused")} == {"refused"}
        assert set(admin.topics.high_watermarks(partitions).values()) == {1}
        assert set(admin.topics.last_stable_offsets(partitions).values()) == {0}
    finally:
        producer.commit_transaction(10)
    committed = 2  # the record, and the marker of its commit
    eventually(lambda: set(admin.topics.last_stable_offsets(partitions).values()) == {committed})


@pytest.fixture
def answers_otherwise() -> Any:
    """A leader that does not check CRCs: the batch has an old format, so the leader returns another error."""
    return mock.patch.object(write_permission, "invalid_batch", return_value=b"no batch at all")


@pytest.mark.parametrize(
    ("config", "open_answer"),
    [
        ({}, "message size too large"),
        ({"compression_type": "zstd"}, "message size too large"),
        ({"message_timestamp_type": "LogAppendTime"}, "message size too large"),
        ({"max_message_bytes": FOUR_MEBIBYTES}, "invalid timestamp"),
    ],
    ids=["by size", "by size, compressing", "by size, append time", "by timestamp"],
)
def test_an_unclear_answer_is_asked_again_with_a_record_that_is_too_large(
    reach: Reach, admin: KafkaCluster, topic: Topic, answers_otherwise: Any, config: dict[str, str],
    open_answer: str,
) -> None:  # fmt: skip
    with answers_otherwise:
        allowed_then_refused(reach("probe"), admin, topic(partitions=3, **config), open_answer)


def test_only_the_partitions_without_a_clear_answer_are_asked_again(
    reach: Reach, admin: KafkaCluster, topic: Topic
) -> None:
    probe, usual, tiny = reach("probe"), topic(partitions=2), topic(max_message_bytes="1")
    asked(probe, usual, 2), asked(probe, tiny, 1)
    produced: list[str] = []
    real = LargeRecord.ask

    def ask(self: object, leaders: dict[TopicPartition, int], configs: object) -> dict[TopicPartition, WriteAnswer]:
        produced.extend(p.topic for p in leaders)
        return real(self, leaders, configs)  # type: ignore[arg-type]

    with mock.patch.object(LargeRecord, "ask", ask):
        answers = probe.write_permission.ask(
            [TopicPartition(usual, 0), TopicPartition(usual, 1), TopicPartition(tiny, 0)]
        )
    assert produced == [tiny]
    assert {a.verdict for a in answers} == {"allowed"}


@pytest.mark.parametrize(
    "config",
    [
        {"max_message_bytes": FOUR_MEBIBYTES, "message_timestamp_type": "LogAppendTime"},
        {"max_message_bytes": FOUR_MEBIBYTES, "message_timestamp_after_max_ms": FOREVER},
    ],
    ids=["append time", "any timestamp"],
)
def test_the_answer_is_unknown_if_every_test_write_might_be_appended(
    reach: Reach, admin: KafkaCluster, topic: Topic, answers_otherwise: Any, config: dict[str, str]
) -> None:
    probe, name = reach("probe"), topic(**config)
    asked(probe, name, 1)
    with answers_otherwise:
        (answer,) = asked(probe, name, 1, until="unknown")
    assert answer.verdict == "unknown"
    assert "so large that a test write could be appended" in answer.detail
    assert admin.topics.high_watermarks([answer.partition]) == {answer.partition: 0}


def test_a_missing_topic_is_unknown(reach: Reach) -> None:
    (answer,) = reach("probe", request_seconds=2.0).write_permission.ask([TopicPartition("orders.none", 0)])
    assert answer.verdict == "unknown"


def test_asking_needs_the_right_to_write_as_writing_does(reach: Reach, topic: Topic) -> None:
    name = topic()
    (answer,) = asked(reach("audit"), name, 1, until="refused")
    assert (answer.verdict, answer.detail) == ("refused", "topic authorization failed")
