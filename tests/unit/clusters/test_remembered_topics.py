"""Who looks at topics several times in one piece of work asks the cluster once, but never for log starts."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.clusters import ClientSettings, KafkaCluster, TopicPartition
from kafka_dr.clusters.topics import Topics

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Growing(Topics):
    """Topics whose logs grow with each question."""

    def __init__(self) -> None:
        super().__init__(KafkaCluster("east", ClientSettings("127.0.0.1:1"))._session)
        self.asked = 0

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        return dict.fromkeys(partitions, self.asked)

    log_starts = last_stable_offsets = high_watermarks


def remembering() -> Topics:
    cluster = KafkaCluster("east", ClientSettings("127.0.0.1:1"), topics=Growing())
    return cluster.remembering_topics().topics


def test_an_end_is_asked_for_once_and_each_kind_by_itself() -> None:
    topics = remembering()
    assert topics.high_watermarks([ONE]) == topics.high_watermarks([ONE]) == {ONE: 1}
    assert topics.high_watermarks([ONE, OTHER]) == {ONE: 1, OTHER: 2}
    assert topics.last_stable_offsets([ONE]) == topics.last_stable_offsets([ONE]) == {ONE: 3}


def test_log_starts_are_asked_for_each_time() -> None:
    topics = remembering()
    assert topics.log_starts([ONE]) != topics.log_starts([ONE])


def test_what_was_not_asked_through_it_is_not_remembered() -> None:
    cluster = KafkaCluster("east", ClientSettings("127.0.0.1:1"), topics=Growing())
    cluster.remembering_topics().topics.high_watermarks([ONE])
    assert cluster.topics.high_watermarks([ONE]) == {ONE: 2}
    assert cluster.remembering_topics().topics.high_watermarks([ONE]) == {ONE: 3}
