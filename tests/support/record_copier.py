"""Somebody's own replicator, a program of its own: reads records, writes them as they are, commits at least once.

    python record_copier.py SETTINGS.json

With ``"commits": false`` in its settings it commits nothing. A write that is refused is tried again for ever, as its
supervisor would do. SIGTERM ends it when it has committed.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

_BATCH, _WAIT_SECONDS, _REFUSED_SECONDS = 200, 0.1, 0.2


class _Ending:
    """Whether it was asked to end."""

    asked = False

    def ask(self, *_: object) -> None:
        self.asked = True


def main(settings: Path) -> None:
    """Copy until it is asked to end."""
    given, ending = json.loads(settings.read_text()), _Ending()
    signal.signal(signal.SIGTERM, ending.ask)
    own = {"group.id": given["group"], "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({**given["source"], **own})
    producer = Producer({**given["target"], "enable.idempotence": True, "message.timeout.ms": 5000})
    partitions = [TopicPartition(given["topic"], number) for number in range(given["partitions"])]
    consumer.assign(partitions)
    _begin_at_the_committed(consumer, partitions)
    while not ending.asked:
        messages = [each for each in consumer.consume(_BATCH, _WAIT_SECONDS) if each.error() is None]
        if not messages:
            continue
        if not _written(producer, given["copy"], messages):
            _begin_at_the_committed(consumer, partitions)
            time.sleep(_REFUSED_SECONDS)
        elif given["commits"]:
            consumer.commit(offsets=_next_to_read(messages), asynchronous=False)
    consumer.close()


def _written(producer: Producer, copy: str, messages: list[Message]) -> bool:
    """Return whether every record was acknowledged."""
    failed: list[object] = []

    def done(error: object, _: Message) -> None:
        if error is not None:
            failed.append(error)

    try:
        for each in messages:
            producer.produce(
                copy,
                value=each.value(),
                key=each.key(),
                headers=each.headers(),
                partition=each.partition(),
                timestamp=each.timestamp()[1],
                on_delivery=done,
            )
    except KafkaException:
        return False
    producer.flush()
    return not failed


def _next_to_read(messages: list[Message]) -> list[TopicPartition]:
    newest = {each.partition(): each for each in messages}
    return [TopicPartition(each.topic(), number, each.offset() + 1) for number, each in newest.items()]


def _begin_at_the_committed(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    for each in consumer.committed(partitions, timeout=30):
        consumer.seek(TopicPartition(each.topic, each.partition, max(0, each.offset)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
