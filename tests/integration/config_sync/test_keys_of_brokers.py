"""A key of topics that a version of Kafka brings along is a finding until somebody has put it into a class.

Of the keys of brokers, those that applications meet are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin import ResourceType as ClientResourceType

from kafka_dr.clusters import KafkaCluster
from kafka_dr.config_sync.brokers import compare_brokers, met_by_applications
from kafka_dr.config_sync.items import ItemKind, ItemVerdict
from kafka_dr.config_sync.policy import KeyClass, Policy
from support.config_snapshots import side
from support.two_brokers import TwoBrokers
from support.waiting import eventually, known_to_all

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


@contextmanager
def one_broker_set(brokers: TwoBrokers, key: str, value: str) -> Iterator[None]:
    """Set a key on one of the two brokers for a while."""

    def alter(operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(key, value, incremental_operation=operation)
        resource = ConfigResource(ClientResourceType.BROKER, "1", incremental_configs=[entry])
        for future in cluster._session.admin.incremental_alter_configs([resource]).values():
            future.result(timeout=20)

    with brokers.cluster("admin") as cluster:
        alter(AlterConfigOpType.SET)
        try:
            yield
        finally:
            alter(AlterConfigOpType.DELETE)


def test_a_setting_that_applications_meet_is_noted_and_nothing_else_of_a_broker(brokers: TwoBrokers) -> None:
    with brokers.cluster("dr-operator") as cluster:
        before = met_by_applications(cluster)
        with one_broker_set(brokers, "producer.id.expiration.ms", "5000"):
            eventually(lambda: met_by_applications(cluster) != before)
            seen = met_by_applications(cluster)
    assert before["producer.id.expiration.ms"] == "86400000"
    assert before["transaction.max.timeout.ms"] == "900000"
    assert not {"group.coordinator.threads", "log.dirs", "num.io.threads", "message.max.bytes"} & before.keys()
    (item,) = compare_brokers(side("east", met=before), side("west", met=seen))
    assert (item.kind, item.verdict, item.blocks, item.change) == (ItemKind.BROKER, ItemVerdict.NOTE, False, None)
    assert (item.subject, item.active, item.standby) == ("producer.id.expiration.ms", "86400000", "5000 or 86400000")


@pytest.mark.long
def test_what_4_4_brings_along_for_applications_is_compared(
    two_brokers: TwoBrokers, two_next_brokers: TwoBrokers
) -> None:
    with two_brokers.cluster("admin") as cluster, two_next_brokers.cluster("admin") as following:
        known, met = met_by_applications(cluster), met_by_applications(following)
    assert known.keys() - met.keys() == set()
    assert met.keys() - known.keys() == {
        "errors.deadletterqueue.auto.create.topics.enable",
        "errors.deadletterqueue.topic.name.prefix",
        *("group.streams.assignors", "group.streams.rack.aware.assignment.tags"),
    }
