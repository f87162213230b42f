"""A running flow that does nothing wrong, whatever its records are like: nothing is held against it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from support.checksum import Auditor, ChecksumAuditRun
from support.cleaner import a_quick_cleaner
from support.plain_flow import PlainFlow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
_SECONDS = 60.0
_CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
_CLEANED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
_HOUR_MS = 3_600_000


def partitions_of(flowing: PlainFlow) -> tuple[dict[str, TopicPartition], TopicPartition]:
    """Create a topic for each codec, which another one keeps on the target, and a compacted one on both clusters."""
    name = flowing.protection.name
    topics = {codec: f"{name}.{codec}" for codec in _CODECS}
    sides = {"east": _CODECS, "west": (*_CODECS[1:], _CODECS[0])}
    for cluster, codecs in sides.items():
        with flowing.protection.cluster(cluster, "admin") as admin:
            for topic, codec in zip(topics.values(), codecs, strict=True):
                admin.topics.create(topic, partitions=1, replication_factor=1, config={"compression.type": codec})
            admin.topics.create(f"{name}.table", partitions=1, replication_factor=1, config=_CLEANED)
    return {codec: TopicPartition(topic, 0) for codec, topic in topics.items()}, TopicPartition(f"{name}.table", 0)


def strange_records(chance: random.Random, partition: TopicPartition, count: int, now_ms: int) -> Iterator[NewRecord]:
    """Yield records with and without key, value and headers, of times that go up and down from yesterday to the hour
    that brokers allow ahead; every fifth one comes twice, and both are the producer's.
    """
    for number in range(count):
        key = (None, b"", f"key-{number % 7}".encode())[number % 3]
        value = (None, b"", b"the same", chance.randbytes(200))[number % 4]
        headers = ((), (("h", b""), ("h", b"twice")))[number % 2]
        ahead = int(chance.choice((chance.uniform(-24, 0), chance.uniform(0, 0.8))) * _HOUR_MS)
        record = NewRecord(partition, key, value, headers, now_ms + ahead)
        yield from (record, record) if number % 5 == 0 else (record,)


def rows(chance: random.Random, partition: TopicPartition, count: int, now_ms: int) -> Iterator[NewRecord]:
    """Yield rows of a table of few keys; some are deleted."""
    for _ in range(count):
        value = None if chance.random() < 0.2 else chance.randbytes(20)
        ahead = int(chance.uniform(-1, 0.5) * _HOUR_MS)
        yield NewRecord(partition, f"k{chance.randrange(6)}".encode(), value, (), now_ms + ahead)


def held(cluster: KafkaCluster, partition: TopicPartition) -> int:
    """Return how many records a log has."""
    end = cluster.topics.last_stable_offsets([partition])[partition]
    return len(list(cluster.log.read({partition: OffsetRange(0, end)})))


def assert_clean(found: ChecksumAuditRun) -> None:
    assert (found.code, found.lines, found.report["verdict"]) == (0, [], "equal")
    coverage = found.report["coverage"]
    assert (coverage["differing"], coverage["in_flight"]) == (0, 0)


def write(cluster: KafkaCluster, parts: Sequence[Sequence[NewRecord]]) -> None:
    for part in parts:
        cluster.writing.append(part)


def test_a_flow_that_does_nothing_wrong_is_clean_whatever_it_carries(
    flowing: PlainFlow, spark: SparkSession, tmp_path: Path
) -> None:
    audit, chance = Auditor(flowing.protection, spark, tmp_path), random.Random(5)  # noqa: S311 - nothing secret
    codecs, table = partitions_of(flowing)
    copied = [*codecs.values(), table]
    now_ms = int(time.time() * 1000)
    records = [record for p in codecs.values() for record in strange_records(chance, p, 60, now_ms)]
    records += rows(chance, table, 120, now_ms)
    chance.shuffle(records)
    parts = [records[start:end] for start, end in pairwise(range(0, len(records) + 1, len(records) // 6))]
    parts[-1] += records[6 * (len(records) // 6) :]
    east, west = flowing.audit("east"), flowing.audit("west")
    with flowing.protection.cluster("east", "admin") as producer:
        write(producer, parts[:2])
        flowing.start()
        write(producer, parts[2:4])
        running = audit()
        assert (running.code, {line["kind"] for line in running.lines} - {FindingKind.IN_FLIGHT}) == (0, set())
        write(producer, parts[4:])
        flowing.wait_copied(copied)
        copy = audit()
        assert_clean(copy)
        of_codecs = [copy.topic(partition.topic)["coverage"] for partition in codecs.values()]
        assert [each["verified"] for each in of_codecs] == [72] * len(codecs)
        with ExitStack() as cleaners:
            for cluster in ("east", "west"):
                cleaners.enter_context(a_quick_cleaner(flowing.protection, cluster))
            deadline = time.monotonic() + _SECONDS
            while max(held(east, table), held(west, table)) > 40:
                assert time.monotonic() < deadline, "the cleaner did nothing"
                write(producer, [list(rows(chance, table, 1, now_ms))])
                time.sleep(0.2)
        write(producer, [list(rows(chance, table, 30, now_ms))])
    flowing.wait_copied(copied)
    assert_clean(audit())
    whole = audit("--full")
    assert_clean(whole)
    assert whole.topic(table.topic)["coverage"]["compacted"] >= 80
