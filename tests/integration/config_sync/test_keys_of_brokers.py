"""A key that a version of Kafka brings along is a finding for every topic until somebody has put it into a class."""

from __future__ import annotations

import pytest

from kafka_dr.config_sync.policy import KeyClass, Policy
from support.two_brokers import TwoBrokers

pytestmark = pytest.mark.kafka


def test_every_topic_configuration_of_a_broker_has_a_class(brokers: TwoBrokers) -> None:
    with brokers.cluster("admin") as cluster:
        cluster.topics.create("classed", partitions=1, replication_factor=1, config={})
        found = cluster.topics.configs(["classed"])["classed"]
    assert len(found) > 25
    assert [key for key in found if Policy().class_of(key) is KeyClass.UNKNOWN] == []
