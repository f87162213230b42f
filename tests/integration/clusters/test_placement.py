"""Where replicas, leaders and controllers are, on brokers of the lab's Kafka, and (long) of 3.9 and 4.4."""

from __future__ import annotations

import uuid

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.placement import PlacedPartition, RackedBroker
from lab.credentials import ADMIN
from support.two_brokers import TwoBrokers
from support.waiting import eventually, known_to_all


def test_the_placement_is_what_was_asked_for_and_a_broker_that_is_down_is_named(brokers: TwoBrokers) -> None:
    topic = f"orders.p{uuid.uuid4().hex[:8]}"
    partition, up = TopicPartition(topic, 0), (RackedBroker(1, "", True), RackedBroker(2, "", True))
    with brokers.cluster(ADMIN) as cluster:
        placement = cluster.placement
        cluster.topics.create(topic, partitions=1, replication_factor=2, config={"min.insync.replicas": "1"})
        known_to_all(cluster, topic)

        def placed() -> PlacedPartition:
            (found,) = placement.partitions(lambda name: name == topic)
            return found

        eventually(lambda: {*placed().in_sync} == {1, 2})
        assert placed().leader == placed().replicas[0]
        assert (placement.brokers()[1], [each.node for each in placement.voters()]) == (up, [1])
        assert placement.voters()[0].late_ms == 0
        assert placement.being_moved() == frozenset()
        assert cluster.log_sizes.of_all([1, 2])[partition] == 0

        with brokers.without(2):
            eventually(lambda: placed().in_sync == (1,))
            assert placed().leader == 1
            former = brokers.jvm.jars.name == "kafka-3.9.1"
            left = (up[0],) if former else (up[0], RackedBroker(2, "", False))
            eventually(lambda: placement.brokers()[1] == left)
