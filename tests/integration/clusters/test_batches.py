"""The codec of the newest batch of each partition, from real brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.writing import NewRecord

pytestmark = pytest.mark.kafka
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def test_each_partition_shows_its_codec_however_large_batches_are_and_whatever_ended_them(
    reach: Callable[..., KafkaCluster], topic: Callable[..., str]
) -> None:
    operator, name = reach("dr-operator"), topic(partitions=len(CODECS) + 1)
    admin = reach("admin")
    for number, codec in enumerate(CODECS):
        settings: dict[str, Any] = {**admin.settings.librdkafka(), "compression.type": codec, "linger.ms": 50}
        producer = Producer({**settings, "transactional.id": f"{name}-{number}"} if codec == "gzip" else settings)
        if codec == "gzip":
            producer.init_transactions(10)
            producer.begin_transaction()
        for count in range(200):
            producer.produce(name, bytes(range(256)) * 4 + b"%d" % count, partition=number)
        assert producer.flush(10) == 0
        if codec == "gzip":
            # Its log ends with a marker, which has no codec.
            producer.commit_transaction(10)
    leaders = operator.topics.leaders([name])
    found = operator.batches.newest_codecs(operator.topics.high_watermarks(leaders), leaders)
    assert found == {TopicPartition(name, number): codec for number, codec in enumerate(CODECS)}
    admin.writing.append([NewRecord(TopicPartition(name, 0), None, b"one")])
    assert operator.batches.newest_codecs({TopicPartition(name, 5): 0}, leaders) == {}
