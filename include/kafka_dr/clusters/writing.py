"""Write ordinary records, and records in transactions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_dr.clusters.batches import Codec
from kafka_dr.clusters.errors import (
    ClusterUnreachable,
    NotAuthorized,
    error_class,
    in_words,
    raise_translated,
)
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.durations import duration
from kafka_dr.errors import ConnectionMistake, KafkaDrError, OutcomeUnknown
from kafka_dr.positions import TopicPartition

#: In bytes; the usual limit of topics is about half of it.
_LARGEST_RECORD = 2 * 1024 * 1024
_USUAL_BATCH = 1_000_000
#: How long an abandoned transaction may hold back the last stable offset, in milliseconds.
_ABANDONED_MS = 10_000


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to be written.

    :param timestamp_ms: milliseconds since the epoch; ``None``: the client's clock
    """

    partition: TopicPartition
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None


class Writing:
    """Writes records."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def append(self, records: Iterable[NewRecord], *, idempotent: bool = True) -> tuple[int, ...]:
        """Write records with acks=all, and return their offsets in the same order.

        :param idempotent: if false, a record may be written twice when an answer is lost, but the producer is kept for
            the next call; sufficient if readers use only the newest record of each key
        :raises ClusterError: a record was refused; others may have been written
        :raises ClusterUnreachable: no answer before the deadline; records may have been written
        """
        seconds = self._session.request_seconds
        wanted = list(records)
        if not wanted:
            return ()
        producer = self._idempotent(wanted[0].partition.topic) if idempotent else self._session.appender()
        offsets: dict[int, int] = {}
        failures: list[KafkaError] = []

        for index, record in enumerate(wanted):

            def done(error: KafkaError | None, message: Message, index: int = index) -> None:
                if error is not None:
                    failures.append(error)
                else:
                    offsets[index] = message.offset()

            try:
                with self._session.translated(f"write to {record.partition}"):
                    produce(producer, record, done)
            except KafkaDrError:
                self._session.drop_appender()
                raise
        with self._session.observed("write"):
            if producer.flush(self._session.patience_seconds):
                self._session.contact.refuse_mistake()
                producer.flush(seconds + 1 - self._session.patience_seconds)
        if len(offsets) < len(wanted):
            self._session.drop_appender()
        if failures:
            with self._session.translated("write"):
                raise KafkaException(failures[0])
        if len(offsets) < len(wanted):
            raise ClusterUnreachable(
                f"{self._session.label}: a write was not answered within {duration(seconds)}; records may be written"
            )
        return tuple(offsets[index] for index in range(len(wanted)))

    def _idempotent(self, topic: str) -> Producer:
        millis = int(self._session.request_seconds * 1000)
        producer = self._session.producer(
            {"enable.idempotence": True, "acks": "all", "linger.ms": 1, "delivery.timeout.ms": millis}
        )
        with self._session.translated(f"look at {topic}"):
            self._session.connect(producer, topic)
        return producer

    @contextmanager
    def transactions(
        self,
        transactional_id: str,
        *,
        largest: int = _LARGEST_RECORD,
        batch_bytes: int = _USUAL_BATCH,
        codec: Codec = "lz4",
        known_topic: str | None = None,
    ) -> Iterator[TransactionalWriter]:
        """Take a transactional id over and write with it.

        :param largest: the largest record that the topics accept, in bytes
        :param batch_bytes: the largest batch that all topics accept, in bytes; a larger record gets its own batch
        :param codec: how batches are compressed. Of what a run journals, thousands of partitions are megabytes of much
            the same JSON, kept for good
        :param known_topic: a topic that the principal may DESCRIBE, if it may not see every topic
        """
        settings = {
            "transaction.timeout.ms": _ABANDONED_MS,
            "delivery.timeout.ms": _ABANDONED_MS,
            "message.max.bytes": max(largest, _LARGEST_RECORD),
            "batch.size": min(batch_bytes, _USUAL_BATCH),
            "compression.type": codec,
        }
        producer = self._session.transactional_producer(transactional_id, settings, known_topic=known_topic)
        yield TransactionalWriter(self._session, producer, transactional_id)


class TransactionalWriter:
    """Writes records in transactions, until a newer writer takes the transactional id over."""

    def __init__(self, session: ClusterSession, producer: Producer, transactional_id: str) -> None:
        self._session = session
        self._producer = producer
        self._id = transactional_id

    def write(self, records: Iterable[NewRecord]) -> dict[TopicPartition, int]:
        """Write records in one transaction: all of them or none.

        :returns: the offset after the last record of each partition
        :raises WriterFenced: a newer writer took the id over before the commit; nothing was written
        :raises OutcomeUnknown: the commit was not answered, or a newer writer took the id over meanwhile and committed
            or aborted the transaction; read before doing anything else
        """
        doing = f"write as {self._id}"
        wanted = list(records)
        last = {record.partition: number for number, record in enumerate(wanted)}
        ends: dict[TopicPartition, int] = {}

        def done(error: KafkaError | None, message: Message) -> None:
            if error is None:
                ends[TopicPartition(message.topic(), message.partition())] = message.offset() + 1

        try:
            with self._session.translated(doing):
                self._producer.begin_transaction()
                for number, record in enumerate(wanted):
                    produce(self._producer, record, done if last[record.partition] == number else None)
                with self._session.observed(doing):
                    self._producer.flush(self._session.request_seconds)
        except KafkaDrError:
            self._abort()
            raise
        self._commit(doing)
        return ends

    def _commit(self, doing: str) -> None:
        deadline = time.monotonic() + self._session.request_seconds
        while True:
            try:
                with self._session.observed(f"commit what was written as {self._id}"):
                    self._producer.commit_transaction(max(0.1, deadline - time.monotonic()))
            except KafkaException as error:
                if self._commit_again(error.args[0], doing, expired=time.monotonic() > deadline):
                    continue
            return

    def _commit_again(self, error: KafkaError, doing: str, *, expired: bool) -> bool:
        if error.txn_requires_abort():
            self._abort()
            # A broker that fails while it commits, as one that wakes up may, does not say what it has done.
            if error.code() != KafkaError.UNKNOWN:
                raise_translated(error, cluster=self._session.label, doing=doing)
        elif error.retriable() and not expired:
            return True
        if issubclass(error_class(error.code()), NotAuthorized | ConnectionMistake):
            raise_translated(error, cluster=self._session.label, doing=doing)
        raise OutcomeUnknown(
            f"{self._session.label}: the commit of {self._id} was not answered ({in_words(error.code())}); its "
            "records may or may not be written: read before doing anything else"
        )

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(self._session.request_seconds)
        except KafkaException:
            # The next writer with this id, or the transaction's timeout, ends the open transaction.
            return


def produce(producer: Producer, record: NewRecord, on_delivery: object) -> None:
    """Give a record to a producer; ``on_delivery`` is called with the result."""
    timestamp = {} if record.timestamp_ms is None else {"timestamp": record.timestamp_ms}
    while True:
        try:
            producer.produce(
                record.partition.topic,
                partition=record.partition.partition,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                on_delivery=on_delivery,
                **timestamp,
            )
            return
        except BufferError:
            # The client's queue is full; answers or deadlines free it.
            producer.poll(0.1)
