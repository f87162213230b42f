"""Asking for a write by a record that the topic cannot take: the second question, where the first has no answer.

It costs a megabyte for each partition, so it is put only to leaders that do not answer the small one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_dr.clusters.model import WriteAnswer, WriteVerdict
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.writing import NewRecord, produce
from kafka_dr.positions import TopicPartition

#: Above this the oversized record would itself be a burden; the question is put by a timestamp instead.
_LARGEST = 2 * 1024 * 1024
_TEN_YEARS_MS = 10 * 365 * 24 * 3600 * 1000
#: ``message.timestamp.after.max.ms`` from here on would take a record stamped ten years ahead.
_FOREVER_MS = _TEN_YEARS_MS

_NO_QUESTION = "max.message.bytes and message.timestamp.after.max.ms leave no way to ask without writing"
_VERDICTS: dict[int, WriteVerdict] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "refused",
    KafkaError.MSG_SIZE_TOO_LARGE: "allowed",
    KafkaError.INVALID_TIMESTAMP: "allowed",
    KafkaError.NOT_ENOUGH_REPLICAS: "unable",
}


class LargeRecord:
    """Asks leaders by a record that is larger than the topic allows, or is stamped further ahead than it allows.

    The authorizer is asked before either is looked at.
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def ask(
        self, leaders: Mapping[TopicPartition, int], topic_configs: Mapping[str, Mapping[str, str]]
    ) -> dict[TopicPartition, WriteAnswer]:
        """Ask each partition's leader, all leaders at once.

        :param leaders: the partitions to ask about
        :param topic_configs: effective configuration by topic, for the limits
        :returns: what was answered; ``unknown`` where a question that appends nothing cannot be put
        """
        answers: dict[TopicPartition, WriteAnswer] = {}
        by_leader: dict[int, list[NewRecord]] = {}
        for partition, leader in leaders.items():
            question = _question(partition, topic_configs.get(partition.topic, {}))
            if question is None:
                answers[partition] = WriteAnswer(partition, "unknown", _NO_QUESTION)
            else:
                by_leader.setdefault(leader, []).append(question)
        if by_leader:
            with ThreadPoolExecutor(max_workers=len(by_leader)) as pool:
                for given in pool.map(self._ask_leader, by_leader.values()):
                    answers |= given
        return answers

    def _ask_leader(self, questions: Iterable[NewRecord]) -> dict[TopicPartition, WriteAnswer]:
        """Put the questions to one leader, by a producer of its own.

        After one refusal librdkafka fails whatever else it holds for the topic, also what it would have sent to other
        brokers. A producer shared by several leaders would show the first one's answer as the answer of all.
        """
        producer = self._asker()
        answers: dict[TopicPartition, WriteAnswer] = {}
        for question in questions:

            def done(
                error: KafkaError | None, message: Message, partition: TopicPartition = question.partition
            ) -> None:
                answers[partition] = _answer(partition, error)

            try:
                produce(producer, question, done)
            except KafkaException as error:
                # Known already from the same leader's answer about another partition of the topic.
                answers[question.partition] = _answer(question.partition, error.args[0])
        producer.flush(self._session.request_seconds + 1)
        return answers

    def _asker(self) -> Producer:
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


def _question(partition: TopicPartition, config: Mapping[str, str]) -> NewRecord | None:
    """Return a record that the leader cannot take, or nothing where every record might be taken."""
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
    """Return the same bytes for every partition: making them each time would take longer than asking."""
    return bytes(count)


def _answer(partition: TopicPartition, error: KafkaError | None) -> WriteAnswer:
    if error is None:
        return WriteAnswer(partition, "allowed", "the leader appended the question: its limits changed meanwhile")
    return WriteAnswer(partition, _VERDICTS.get(error.code(), "unknown"), error.name())
