"""Offsets of many partitions: one request to each leader, leaders are remembered, and never believed for too long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from kafka.protocol.consumer import ListOffsetsRequest

from kafka_dr.clusters.errors import NotAuthorized, StaleMetadata
from kafka_dr.clusters.many_partitions import ManyPartitions
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.positions import TopicPartition

PARTITIONS = [TopicPartition("orders", number) for number in range(4)]


class Brokers(ClusterSession):
    """Two brokers that share the partitions of a topic, and a client that gets what they answer."""

    def __init__(self) -> None:
        super().__init__("east", ClientSettings("127.0.0.1:1"))
        self.looked, self.asked = 0, list[tuple[int, list[tuple[int, int]]]]()
        self.epoch, self.row_error, self.topic_error, self.lowest = 5, 0, 0, 0

    def request(self, request: Any, doing: str, *, broker: int | None = None) -> Any:
        if not isinstance(request, ListOffsetsRequest):
            self.looked += 1
            rows = [
                SimpleNamespace(partition_index=p.partition, leader_id=1 + p.partition % 2, leader_epoch=self.epoch)
                for p in PARTITIONS
            ]
            found = [] if self.topic_error else rows
            return SimpleNamespace(
                topics=[SimpleNamespace(name="orders", error_code=self.topic_error, partitions=found)]
            )
        assert broker is not None
        wanted = request.topics[0].partitions
        self.asked.append((broker, [(each.partition_index, each.current_leader_epoch) for each in wanted]))
        rows = [
            SimpleNamespace(
                partition_index=each.partition_index,
                error_code=self.row_error,
                offset=each.partition_index + self.lowest,
            )
            for each in wanted
        ]
        return SimpleNamespace(topics=[SimpleNamespace(name="orders", partitions=rows)])


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


def ends(many: ManyPartitions) -> dict[TopicPartition, int]:
    return many.offsets(dict.fromkeys(PARTITIONS, -1), 0, "read the ends of orders")


def test_each_leader_is_asked_once_with_the_epoch_in_which_it_leads(brokers: Brokers) -> None:
    assert ends(ManyPartitions(brokers)) == {p: p.partition for p in PARTITIONS}
    assert sorted(brokers.asked) == [(1, [(0, 5), (2, 5)]), (2, [(1, 5), (3, 5)])]


def test_leaders_are_looked_up_once(brokers: Brokers) -> None:
    many = ManyPartitions(brokers)
    ends(many)
    ends(many)
    assert brokers.looked == 1


@pytest.mark.parametrize(
    "code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_TOPIC_OR_PART]
)
def test_a_broker_that_does_not_lead_any_more_is_not_believed_and_leaders_are_looked_up_again(
    brokers: Brokers, code: int
) -> None:
    many = ManyPartitions(brokers)
    ends(many)
    brokers.row_error = code
    with pytest.raises(StaleMetadata):
        ends(many)
    brokers.row_error, brokers.epoch = 0, 6
    ends(many)
    assert brokers.looked == 2
    assert {epoch for _, rows in brokers.asked[-2:] for _, epoch in rows} == {6}


def test_a_topic_without_a_known_leader_is_stale_and_one_that_may_not_be_seen_is_refused(brokers: Brokers) -> None:
    brokers.topic_error = KafkaError.UNKNOWN_TOPIC_OR_PART
    with pytest.raises(StaleMetadata, match="no leader is known of orders-0"):
        ends(ManyPartitions(brokers))
    brokers.topic_error = KafkaError.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(NotAuthorized):
        ends(ManyPartitions(brokers))


def test_an_answer_without_an_offset_is_stale_and_never_before_the_start_of_a_log(brokers: Brokers) -> None:
    brokers.lowest = -1
    with pytest.raises(StaleMetadata, match="a leader gave no offset"):
        ends(ManyPartitions(brokers))


def test_an_offset_by_time_may_be_none_and_the_end_of_a_log_may_not(brokers: Brokers) -> None:
    brokers.lowest = -2
    many = ManyPartitions(brokers)
    by_time = dict.fromkeys(PARTITIONS[:2], 1_700_000_000_000)
    assert many.offsets(by_time, 0, "find offsets by time") == {PARTITIONS[0]: -2, PARTITIONS[1]: -1}
    with pytest.raises(StaleMetadata, match="a leader gave no offset"):
        ends(many)
