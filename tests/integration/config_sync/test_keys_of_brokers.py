"""A key that a version of Kafka brings along is a finding for every topic until somebody has put it into a class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.clusters import KafkaCluster
from kafka_dr.config_sync.policy import KeyClass, Policy
from support.two_brokers import TwoBrokers
from support.waiting import known_to_all

pytestmark = pytest.mark.kafka


@contextmanager
def one_topic(cluster: KafkaCluster) -> Iterator[str]:
    """Yield a topic that each broker knows."""
    cluster.topics.create("classed", partitions=1, replication_factor=2, config={})
    try:
        known_to_all(cluster, "classed")
        yield "classed"
    finally:
        cluster.topics.delete(["classed"])


def test_every_topic_configuration_of_a_broker_has_a_class(brokers: TwoBrokers) -> None:
    with brokers.cluster("admin") as cluster, one_topic(cluster) as topic:
        found = cluster.topics.configs([topic])[topic]
    assert len(found) > 25
    assert [key for key in found if Policy().class_of(key) is KeyClass.UNKNOWN] == []
