"""An application that somebody forgot: it knows one cluster by its address and never asks for the route."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.traffic.logbook import Logbook, read_back
from lab.traffic.payments import TOPIC
from lab.traffic.records import headers

NAME = "forgotten-payments"
FLUSH_SECONDS = 5.0


class StrayProducer:
    """Writes payments to one cluster, with the rights of an ordinary application, and logs what is acknowledged.

    :param cluster: the only cluster that it knows
    :param settings: how it reaches it, in librdkafka's names
    :param logs: the folder of the applications' logs
    """

    def __init__(self, cluster: str, settings: Mapping[str, str], *, logs: Path) -> None:
        self._cluster = cluster
        self._settings = dict(settings)
        self._path = logs / f"{NAME}.jsonl"
        events = read_back(self._path, until=lambda event: event["event"] == "sent")
        self._next = 1 + max([-1, *(int(each) for event in events for each in event.get("sequences", ()))])

    def write(self, count: int) -> int:
        """Write some records at once.

        :returns: how many were acknowledged
        """
        # Quick rather than careful: waiting for a producer id would take longer than the moment that it is there for.
        producer = Producer({**self._settings, "acks": "all", "linger.ms": 0, "log_level": 2, "client.id": NAME})
        sequences = list(range(self._next, self._next + count))
        self._next += count
        acknowledged: list[tuple[int, int, int, float]] = []
        with Logbook(self._path, now=time.time) as log:
            log.write("start", role="producer", cluster=self._cluster, topic=TOPIC)
            log.write("sent", sequences=sequences)
            for sequence in sequences:
                self._produce(producer, sequence, acknowledged)
            producer.flush(FLUSH_SECONDS)
            log.write("acknowledged", records=acknowledged)
        return len(acknowledged)

    def _produce(self, producer: Producer, sequence: int, acknowledged: list[tuple[int, int, int, float]]) -> None:
        time_ms = int(time.time() * 1000)
        key, value = b"forgotten", json.dumps({"payment": sequence}).encode()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                acknowledged.append((sequence, message.partition() or 0, message.offset() or 0, time.time()))

        try:
            producer.produce(
                TOPIC,
                key=key,
                value=value,
                timestamp=time_ms,
                headers=headers(NAME, sequence, key=key, value=value, time_ms=time_ms),
                on_delivery=delivered,
            )
        except KafkaException:
            return  # refused already by what the client knows of the topic
