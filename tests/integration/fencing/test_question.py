"""The question whether a principal may write moves no log, whatever the topic is and however its replicas are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, KafkaCluster, PatternType, ResourceType, TopicPartition
from kafka_dr.clusters.errors import ClusterUnreachable
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.fencing import proof
from lab.rights import OPERATOR, PROBE
from support.two_brokers import TwoBrokers

pytestmark = pytest.mark.kafka
CLOCK = SystemClock()
PREFIX = "orders.asked-"
DENY = Acl(ResourceType.TOPIC, PREFIX, PatternType.PREFIXED, "User:probe", AclOperation.WRITE, AclPermission.DENY)
SHORT = {"min.insync.replicas": "2"}
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "zstd": {"compression.type": "zstd"},
    "lz4": {"compression.type": "lz4", "cleanup.policy": "compact"},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "large": {"max.message.bytes": str(4 * 1024 * 1024), "message.timestamp.after.max.ms": str(2**63 - 1)},
    "copied": SHORT,
    "copied-zstd": {**SHORT, "compression.type": "zstd", "message.timestamp.type": "LogAppendTime"},
}
PARTITIONS = tuple(TopicPartition(PREFIX + name, number) for name in TOPICS for number in range(4))
NEEDS_BOTH = {p for p in PARTITIONS if "copied" in p.topic}
HAS_ENOUGH = {*PARTITIONS} - NEEDS_BOTH


@dataclass(frozen=True, slots=True)
class LogEnds:
    """Where every log ends: for readers, for readers of what is committed, and on the disks of both brokers."""

    high_watermarks: Mapping[TopicPartition, int]
    stable: Mapping[TopicPartition, int]
    bytes_on_disk: Mapping[str, int]

    @classmethod
    def look(cls, brokers: TwoBrokers, admin: KafkaCluster) -> LogEnds:
        """Read them."""
        return cls(
            admin.topics.high_watermarks(PARTITIONS),
            admin.topics.last_stable_offsets(PARTITIONS),
            brokers.log_bytes(PREFIX + "*"),
        )


@pytest.fixture
def admin(brokers: TwoBrokers) -> Iterator[KafkaCluster]:
    """The cluster with all topics, each partition holding a record, and a transaction open in each."""
    with brokers.cluster("admin") as cluster:
        for name, config in TOPICS.items():
            cluster.topics.create(PREFIX + name, partitions=4, replication_factor=2, config=config)
        _append(cluster, key=b"first")
        yield cluster
        cluster.topics.delete({p.topic for p in PARTITIONS})


def _append(cluster: KafkaCluster, *, key: bytes) -> None:
    """Write a record to each partition, as soon as both brokers know the topics and replicas are in sync."""
    deadline = time.monotonic() + 20
    for partition in PARTITIONS:
        while True:
            try:
                cluster.writing.append([NewRecord(partition, key, b"value")], idempotent=False)
                break
            except ClusterUnreachable:
                assert time.monotonic() < deadline


@contextmanager
def _open_transaction(cluster: KafkaCluster) -> Iterator[None]:
    producer = cluster._session.transactional_producer("orders-asked")
    producer.begin_transaction()
    for partition in PARTITIONS:
        producer.produce(partition.topic, partition=partition.partition, key=b"k", value=b"uncommitted")
    assert producer.flush(20) == 0
    yield
    producer.abort_transaction(20)


def _verdicts(probe: KafkaCluster) -> dict[TopicPartition, str]:
    return {answer.partition: answer.verdict for answer in probe.write_permission.ask(PARTITIONS)}


def test_no_log_moves_and_every_answer_is_right(brokers: TwoBrokers, admin: KafkaCluster) -> None:
    with (
        brokers.cluster(OPERATOR) as operator,
        brokers.cluster(PROBE) as probe,
        _open_transaction(admin),
    ):
        assert set(admin.topics.leaders({p.topic for p in PARTITIONS}).values()) == {1, 2}
        before = LogEnds.look(brokers, admin)
        assert set(before.high_watermarks.values()) == {2}
        assert set(before.stable.values()) == {1}

        allowed = proof.writes_allowed(probe, PARTITIONS, clock=CLOCK, deadline_seconds=5, seen_by=operator)
        assert (allowed.outcome, allowed.facts["answers"]) == ("ok", ["it would accept a write"])
        _refused_while_denied(operator, probe)

        with brokers.without(2):
            for client in (operator, admin):
                # librdkafka would wait for the broker that has gone, which it took for the controller.
                client.topics.names()
            _short_of_a_replica(operator, probe)
            _refused_while_denied(operator, probe)
            # A leader that is new and short of a replica may not know its high watermark before that replica is back.
            assert admin.topics.high_watermarks(HAS_ENOUGH) == {p: before.high_watermarks[p] for p in HAS_ENOUGH}
        assert LogEnds.look(brokers, admin) == before
        again = proof.writes_allowed(probe, PARTITIONS, clock=CLOCK, deadline_seconds=20, seen_by=operator)
        assert again.outcome == "ok", again
        assert LogEnds.look(brokers, admin) == before


def _short_of_a_replica(operator: KafkaCluster, probe: KafkaCluster) -> None:
    """Leaders have moved to the broker that is left; of some topics it takes no write of anybody."""
    passes = proof.writes_authorized(probe, PARTITIONS, clock=CLOCK, deadline_seconds=20, seen_by=operator)
    assert passes.outcome == "ok"
    assert passes.facts["answers"] == ["it would accept a write", "not enough in-sync replicas"]
    assert _verdicts(probe) == {p: "unable" if p in NEEDS_BOTH else "allowed" for p in PARTITIONS}
    taken = proof.writes_allowed(probe, PARTITIONS, clock=CLOCK, deadline_seconds=0.1, seen_by=operator)
    assert taken.outcome == "unknown", taken
    assert "not enough in-sync replicas" in taken.detail
    # To be let pass is no refusal, even where nothing could be written.
    copied = proof.writes_refused(probe, NEEDS_BOTH, clock=CLOCK, deadline_seconds=0.1, seen_by=operator)
    assert copied.outcome == "failed", copied


def _refused_while_denied(operator: KafkaCluster, probe: KafkaCluster) -> None:
    operator.acls.add([DENY])
    refused = proof.writes_refused(probe, PARTITIONS, clock=CLOCK, deadline_seconds=5, seen_by=operator)
    assert (refused.outcome, refused.facts["answers"]) == ("ok", ["topic authorization failed"])
    operator.acls.remove([DENY])
    passes = proof.writes_authorized(probe, PARTITIONS, clock=CLOCK, deadline_seconds=5, seen_by=operator)
    assert passes.outcome == "ok", passes
