"""Would a leader take a write? Asked without making one."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    KafkaCluster,
    PatternType,
    ResourceType,
    TopicPartition,
    WriteAnswer,
)
from kafka_dr.clusters.model import WriteVerdict

pytestmark = pytest.mark.kafka
FOUR_MEBIBYTES = str(4 * 1024 * 1024)
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


def deny(topic: str) -> Acl:
    return Acl(ResourceType.TOPIC, topic, PatternType.LITERAL, "User:probe", AclOperation.WRITE, AclPermission.DENY)


def asked(probe: KafkaCluster, topic: str, *, until: WriteVerdict | None = None) -> tuple[WriteAnswer, ...]:
    """Ask all partitions; again for a few seconds until all answer as expected, as ACLs need a moment to arrive."""
    deadline = time.monotonic() + 5
    configs = probe.topics.configs([topic])
    while True:
        answers = probe.writing.ask(configs, probe.topics.describe([topic])[topic].partitions)
        if until is None or {a.verdict for a in answers} == {until} or time.monotonic() > deadline:
            return answers


@pytest.mark.parametrize(
    ("config", "open_answer"),
    [
        ({}, "MSG_SIZE_TOO_LARGE"),
        ({"compression_type": "zstd"}, "MSG_SIZE_TOO_LARGE"),
        ({"message_timestamp_type": "LogAppendTime"}, "MSG_SIZE_TOO_LARGE"),
        ({"max_message_bytes": FOUR_MEBIBYTES}, "INVALID_TIMESTAMP"),
    ],
    ids=["by size", "by size, compressing", "by size, append time", "by timestamp"],
)
def test_a_leader_says_allowed_then_refused_and_nothing_is_appended(
    reach: Reach, admin: KafkaCluster, topic: Topic, config: dict[str, str], open_answer: str
) -> None:
    probe, name = reach("probe"), topic(partitions=3, **config)
    assert {(a.verdict, a.detail) for a in asked(probe, name, until="allowed")} == {("allowed", open_answer)}
    admin.acls.add([deny(name)])
    found = asked(probe, name, until="refused")
    assert [(a.partition.partition, a.verdict, a.detail) for a in found] == [
        (number, "refused", "TOPIC_AUTHORIZATION_FAILED") for number in range(3)
    ]
    assert set(admin.topics.high_watermarks(a.partition for a in found).values()) == {0}


@pytest.mark.parametrize(
    "config",
    [
        {"max_message_bytes": FOUR_MEBIBYTES, "message_timestamp_type": "LogAppendTime"},
        {"max_message_bytes": FOUR_MEBIBYTES, "message_timestamp_after_max_ms": str(2**63 - 1)},
    ],
    ids=["append time", "any timestamp"],
)
def test_where_every_question_might_be_appended_the_answer_is_unknown(
    reach: Reach, admin: KafkaCluster, topic: Topic, config: dict[str, str]
) -> None:
    name = topic(**config)
    (answer,) = asked(reach("probe"), name)
    assert answer.verdict == "unknown"
    assert "leave no way to ask without writing" in answer.detail
    assert admin.topics.high_watermarks([answer.partition]) == {answer.partition: 0}


def test_a_topic_that_is_not_there_is_unknown(reach: Reach, admin: KafkaCluster, topic: Topic) -> None:
    configs = {"orders.none": admin.topics.configs([name := topic()])[name]}
    (answer,) = reach("probe", request_seconds=2.0).writing.ask(configs, [TopicPartition("orders.none", 0)])
    assert answer.verdict == "unknown"
