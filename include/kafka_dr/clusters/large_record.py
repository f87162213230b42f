"""Ask for write permission with a record that the topic cannot accept, if the small test write got no clear answer.

It costs a megabyte for each partition, so only leaders that did not answer the small test write are asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_dr.clusters.errors import in_words
from kafka_dr.clusters.model import WriteAnswer, WriteVerdict
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.writing import NewRecord, produce
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition

#: A topic with a higher limit (bytes) would need too large a record; a timestamp in the future is used instead.
_LARGEST = 2 * 1024 * 1024
_TEN_YEARS_MS = 10 * 365 * 24 * 3600 * 1000
#: A topic with this ``message.timestamp.after.max.ms`` or more accepts a record with a timestamp in ten years.
_FOREVER_MS = _TEN_YEARS_MS

_NO_TEST_WRITE = (
    "max.message.bytes and message.timestamp.after.max.ms of the topic are so large that a test write could be appended"
)
_VERDICTS: dict[int, WriteVerdict] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "refused",
    KafkaError.MSG_SIZE_TOO_LARGE: "allowed",
    KafkaError.INVALID_TIMESTAMP: "allowed",
    KafkaError.NOT_ENOUGH_REPLICAS: "unable",
}


class LargeRecord:
    """Asks leaders with a record that is larger, or has a later timestamp, than the topic allows.

    Brokers ask the authorizer before they check size and timestamp.
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def ask(
        self, leaders: Mapping[TopicPartition, int], topic_configs: Mapping[str, Mapping[str, str]]
    ) -> dict[TopicPartition, WriteAnswer]:
        """Ask each partition's leader, all leaders at the same time.

        :param leaders: by partition to ask about
        :param topic_configs: effective configuration by topic, for its limits
        :returns: the answers; ``unknown`` if every test write could be appended
        """
        answers: dict[TopicPartition, WriteAnswer] = {}
        by_leader: dict[int, list[NewRecord]] = {}
        for partition, leader in leaders.items():
            test_write = _test_write(partition, topic_configs.get(partition.topic, {}))
            if test_write is None:
                answers[partition] = WriteAnswer(partition, "unknown", _NO_TEST_WRITE)
            else:
                by_leader.setdefault(leader, []).append(test_write)
        for given in ask_all(lambda leader: self._ask_leader(by_leader[leader]), by_leader).values():
            answers |= given
        return answers

    def _ask_leader(self, test_writes: Iterable[NewRecord]) -> dict[TopicPartition, WriteAnswer]:
        """Send the test writes to one leader, with a producer of its own.

        After one refusal librdkafka fails every other record that it holds for the topic, including those for other
        brokers. A producer shared by several leaders would report the first leader's answer as the answer of all.
        """
        producer = self._producer()
        answers: dict[TopicPartition, WriteAnswer] = {}
        for test_write in test_writes:

            def done(
                error: KafkaError | None, message: Message, partition: TopicPartition = test_write.partition
            ) -> None:
                answers[partition] = _answer(partition, error)

            try:
                produce(producer, test_write, done)
            except KafkaException as error:
                # Known from the same leader's answer for another partition of the topic.
                answers[test_write.partition] = _answer(test_write.partition, error.args[0])
        producer.flush(self._session.request_seconds + 1)
        return answers

    def _producer(self) -> Producer:
        millis = int(self._session.request_seconds * 1000)
        return self._session.producer(
            {
                "enable.idempotence": False,
                "acks": "all",
                "retries": 0,
                "compression.type": "none",
                "linger.ms": 0,
                "message.max.bytes": 2 * _LARGEST,
                "delivery.timeout.ms": millis,
                "request.timeout.ms": millis,
            }
        )


def _test_write(partition: TopicPartition, config: Mapping[str, str]) -> NewRecord | None:
    """Return a record that the leader cannot accept; ``None`` if it might accept every record."""
    largest = int(config.get("max.message.bytes", -1))
    if 0 <= largest <= _LARGEST:
        return NewRecord(partition, None, _zeros(largest + 64 * 1024))
    keeps_create_time = config.get("message.timestamp.type") == "CreateTime"
    ahead = int(config.get("message.timestamp.after.max.ms", _FOREVER_MS))
    if keeps_create_time and ahead < _FOREVER_MS:
        return NewRecord(partition, None, b"?", timestamp_ms=int(time.time() * 1000) + _TEN_YEARS_MS)
    return None


@lru_cache(maxsize=4)
def _zeros(count: int) -> bytes:
    """Return the same bytes for every partition: allocating them each time would take longer than asking."""
    return bytes(count)


def _answer(partition: TopicPartition, error: KafkaError | None) -> WriteAnswer:
    if error is None:
        return WriteAnswer(partition, "allowed", "the leader appended the test write: its limits changed meanwhile")
    return WriteAnswer(partition, _VERDICTS.get(error.code(), "unknown"), in_words(error.code()))
