"""A read from which nothing arrives, of many partitions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clusters import ClientSettings, TopicPartition
from kafka_dr.clusters.errors import ClusterUnreachable
from kafka_dr.clusters.log import Log
from kafka_dr.clusters.session import ClusterSession

TOPICS = {f"orders.t{number:03d}" for number in range(100)}


class SilentConsumer:
    """A consumer to which nothing arrives; only some topics are in the answer that has all of them."""

    def __init__(self, seen: set[str]) -> None:
        self.seen = seen
        self.asked: list[str | None] = []

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        self.asked.append(topic)
        names = self.seen if topic is None else {topic}
        return SimpleNamespace(topics={name: SimpleNamespace(error=None) for name in names})

    def poll(self, _seconds: float) -> None:
        return None


@pytest.fixture
def log() -> Log:
    return Log(ClusterSession("east", ClientSettings.from_librdkafka({"bootstrap.servers": "localhost:1"})))


def test_the_topics_of_a_silent_read_are_looked_up_at_once_and_only_missing_ones_alone(log: Log) -> None:
    consumer = SilentConsumer(TOPICS - {"orders.t042"})
    log._raise_errors_of(set(TOPICS), consumer)
    assert consumer.asked == [None, "orders.t042"]
    few = SilentConsumer(TOPICS)
    log._raise_errors_of({"orders.t001", "orders.t002"}, few)
    assert few.asked == ["orders.t001", "orders.t002"], "the answer with all topics may be large"


def test_a_silent_read_names_a_few_partitions_and_how_many_there_are(log: Log) -> None:
    ends = {TopicPartition(topic, 0): 5 for topic in TOPICS}
    with pytest.raises(ClusterUnreachable) as raised:
        list(log._until_ends(SilentConsumer(TOPICS), ends, -1.0))
    assert "no record of orders.t000-0, orders.t001-0, orders.t002-0 and 97 more arrived" in str(raised.value)
