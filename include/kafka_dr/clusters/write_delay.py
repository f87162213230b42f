"""How much longer a write waits for all in-sync replicas than for the leader alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.writing import NewRecord, produce
from kafka_dr.errors import KafkaDrError
from kafka_dr.positions import TopicPartition

_WARM_UP = 5


@dataclass(frozen=True, slots=True)
class DelaySamples:
    """What pairs of writes to one partition took.

    :param milliseconds: of each pair, the write with acks=all minus the write with acks=1
    :param problem: why there are not more; empty if there are all that were wanted
    """

    partition: TopicPartition
    milliseconds: tuple[float, ...]
    problem: str = ""


class WriteDelay:
    """Measures writes. The principal needs WRITE and DESCRIBE on the topic.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def measure(self, partitions: tuple[TopicPartition, ...], *, pairs: int, seconds: float) -> list[DelaySamples]:
        """Write small records to each partition, alternately with acks=1 and with acks=all, each one by itself.

        :param pairs: of writes, for each partition
        :param seconds: for how long in all; if that is not enough, there are fewer samples
        """
        if not partitions:
            return []
        millis = int(self._session.request_seconds * 1000)
        usual = {"linger.ms": 0, "enable.idempotence": False, "delivery.timeout.ms": millis}
        one, all_in_sync = (self._session.producer({**usual, "acks": acks}) for acks in ("1", "all"))
        ends = time.monotonic() + seconds
        with self._session.translated(f"write to {partitions[0].topic}"):
            for producer in (one, all_in_sync):
                self._session.connect(producer, partitions[0].topic)
        taken: dict[TopicPartition, list[float]] = {partition: [] for partition in partitions}
        problems: dict[TopicPartition, str] = {}
        # One pair for each partition, again and again: if time runs out, it does so for all of them.
        for number in range(_WARM_UP + pairs):
            for partition in (each for each in partitions if each not in problems):
                if time.monotonic() > ends:
                    problems[partition] = "there was no more time"
                    continue
                try:
                    found = self._pair(partition, one, all_in_sync)
                    taken[partition] += [found] if number >= _WARM_UP else []
                except KafkaDrError as error:
                    problems[partition] = str(error)
        return [DelaySamples(each, tuple(taken[each]), problems.get(each, "")) for each in partitions]

    def _pair(self, partition: TopicPartition, one: Producer, all_in_sync: Producer) -> float:
        """Return how many milliseconds longer the write with acks=all took."""
        first = self._write(one, partition)
        # A replica that still fetches the record before would make the next one wait for two of its fetches.
        self._write(all_in_sync, partition)
        return self._write(all_in_sync, partition) - first

    def _write(self, producer: Producer, partition: TopicPartition) -> float:
        """Return the milliseconds until a record was acknowledged."""
        answers: list[tuple[float, KafkaError | None]] = []

        def done(error: KafkaError | None, _message: Message) -> None:
            answers.append((time.perf_counter(), error))

        doing = f"write to {partition}"
        with self._session.observed(doing), self._session.translated(doing):
            began = time.perf_counter()
            produce(producer, NewRecord(partition, None, b"kafka-dr delay"), done)
            producer.flush(self._session.request_seconds + 1)
            ended, error = answers[0] if answers else (began, KafkaError(KafkaError._MSG_TIMED_OUT))
            if error is not None:
                raise KafkaException(error)
        return (ended - began) * 1000
