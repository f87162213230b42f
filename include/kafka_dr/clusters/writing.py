"""Writing: ordinary records, transactions, and asking for a write without making one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_dr.clusters.errors import (
    ClusterUnreachable,
    NotAuthorized,
    error_class,
    raise_translated,
    translated,
)
from kafka_dr.clusters.metadata import Topics
from kafka_dr.clusters.model import TopicPartition, WriteAnswer, WriteVerdict
from kafka_dr.clusters.session import ClusterSession, connect
from kafka_dr.errors import KafkaDrError, OutcomeUnknown

#: Above this the oversized record would itself be a burden; the question is put by a timestamp instead.
_LARGEST_QUESTION = 2 * 1024 * 1024
_USUAL_BATCH = 1_000_000
_TEN_YEARS_MS = 10 * 365 * 24 * 3600 * 1000
#: ``message.timestamp.after.max.ms`` from here on would take a record stamped ten years ahead.
_FOREVER_MS = _TEN_YEARS_MS
#: How long a transaction that was abandoned may hold readers back.
_ABANDONED_MS = 10_000

_NO_QUESTION = "max.message.bytes and message.timestamp.after.max.ms leave no way to ask without writing"
_SILENT = "there is no leader to be seen, or it moved, or it gave no answer before the deadline"
_VERDICTS: dict[int, WriteVerdict] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "refused",
    KafkaError.MSG_SIZE_TOO_LARGE: "allowed",
    KafkaError.INVALID_TIMESTAMP: "allowed",
}


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to be written.

    :param timestamp_ms: milliseconds since the epoch; the client's clock where ``None``
    """

    partition: TopicPartition
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None


class Writing:
    """Writes records, and asks leaders whether they would take one."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._ready: list[Producer] = []

    def append(self, records: Iterable[NewRecord], *, idempotent: bool = True) -> tuple[int, ...]:
        """Write records with acks=all, and return the offset of each, in their order.

        :param idempotent: without it a record may be written twice when an answer is lost, and a producer is kept from
            one call to the next; enough where a reader takes the newest by key anyway
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

        for place, record in enumerate(wanted):

            def done(error: KafkaError | None, message: Message, place: int = place) -> None:
                if error is not None:
                    failures.append(error)
                else:
                    offsets[place] = message.offset()

            try:
                with translated(self._session.label, f"write to {record.partition}"):
                    _produce(producer, record, done)
            except KafkaDrError:
                self._session.drop_appender()
                raise
        with self._session.observed("write"):
            producer.flush(seconds + 1)
        if len(offsets) < len(wanted):
            self._session.drop_appender()
        if failures:
            raise_translated(failures[0], cluster=self._session.label, doing="write")
        if len(offsets) < len(wanted):
            raise ClusterUnreachable(f"{self._session.label}: no answer to a write within {seconds:g} s")
        return tuple(offsets[place] for place in range(len(wanted)))

    def _idempotent(self, topic: str) -> Producer:
        millis = int(self._session.request_seconds * 1000)
        producer = self._session.producer(
            {"enable.idempotence": True, "acks": "all", "linger.ms": 1, "delivery.timeout.ms": millis}
        )
        with translated(self._session.label, f"look at {topic}"):
            connect(producer, topic, self._session.request_seconds)
        return producer

    @contextmanager
    def transactions(
        self,
        transactional_id: str,
        *,
        largest: int = _LARGEST_QUESTION,
        batch_bytes: int = _USUAL_BATCH,
    ) -> Iterator[TransactionalWriter]:
        """Take a transactional id over and write with it.

        :param largest: the largest record that the topics take, in bytes
        :param batch_bytes: the largest batch that all of them take; a larger record stands alone in its own
        """
        settings = {
            "transaction.timeout.ms": _ABANDONED_MS,
            "delivery.timeout.ms": _ABANDONED_MS,
            "message.max.bytes": max(largest, _LARGEST_QUESTION),
            "batch.size": min(batch_bytes, _USUAL_BATCH),
        }
        producer = self._session.transactional_producer(transactional_id, settings)
        yield TransactionalWriter(self._session, producer, transactional_id)

    def connect_to_ask(self) -> None:
        """Begin to connect what is going to ask for a write; it is not waited for."""
        self._ready.append(self._asker())

    def ask(
        self,
        topic_configs: Mapping[str, Mapping[str, str]],
        partitions: Iterable[TopicPartition],
        *,
        seen_by: Topics | None = None,
    ) -> tuple[WriteAnswer, ...]:
        """Ask the leader of every partition whether it would take a write by this principal.

        Nothing is appended whatever the answer: the record is larger than the topic allows, or is stamped further
        ahead than it allows, and the authorizer is asked before either is looked at.

        :param topic_configs: effective configuration by topic, for the limits
        :param seen_by: who looks up the leaders; this principal itself where ``None``
        :returns: one answer per partition; ``unknown`` where a question that appends nothing cannot be put
        """
        wanted = sorted(set(partitions))
        questions = {p: _question(p, topic_configs.get(p.topic, {})) for p in wanted}
        answers = {p: WriteAnswer(p, "unknown", _NO_QUESTION) for p, question in questions.items() if question is None}
        look = seen_by or Topics(self._session)
        leaders = look.leaders({p.topic for p in wanted})
        by_leader: dict[int, list[NewRecord]] = {}
        for partition, question in questions.items():
            if question is not None and partition in leaders:
                by_leader.setdefault(leaders[partition], []).append(question)
        if by_leader:
            with ThreadPoolExecutor(max_workers=len(by_leader)) as pool:
                for given in pool.map(self._ask_leader, by_leader.values()):
                    answers |= given
            now = look.leaders({p.topic for p in wanted})
            answers = {p: answer for p, answer in answers.items() if leaders.get(p) == now.get(p)}
        return tuple(answers.get(partition) or WriteAnswer(partition, "unknown", _SILENT) for partition in wanted)

    def _ask_leader(self, questions: Iterable[NewRecord]) -> dict[TopicPartition, WriteAnswer]:
        """Put the questions to one leader, by a producer of its own.

        After one refusal librdkafka fails whatever else it holds for the topic, also what it would have sent to other
        brokers. A producer shared by several leaders would show the first one's answer as the answer of all.
        """
        try:
            producer = self._ready.pop()
        except IndexError:
            producer = self._asker()
        answers: dict[TopicPartition, WriteAnswer] = {}
        for question in questions:

            def done(
                error: KafkaError | None, message: Message, partition: TopicPartition = question.partition
            ) -> None:
                answers[partition] = _answer(partition, error)

            try:
                _produce(producer, question, done)
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
                "message.max.bytes": 2 * _LARGEST_QUESTION,
                "delivery.timeout.ms": millis,
                "request.timeout.ms": millis,
            }
        )


class TransactionalWriter:
    """Writes records in transactions. Usable until a newer writer takes the transactional id over."""

    def __init__(self, session: ClusterSession, producer: Producer, transactional_id: str) -> None:
        self._session = session
        self._producer = producer
        self._id = transactional_id

    def write(self, records: Iterable[NewRecord]) -> None:
        """Write records in one transaction: all of them or none.

        :raises WriterFenced: a newer writer took the id over before the commit; nothing was written
        :raises OutcomeUnknown: the commit was not answered, or a newer writer took the id over meanwhile and ended
            the transaction one way or the other; read before doing anything else
        """
        doing = f"write as {self._id}"
        try:
            with translated(self._session.label, doing):
                self._producer.begin_transaction()
                for record in records:
                    _produce(self._producer, record, None)
                with self._session.observed(doing):
                    self._producer.flush(self._session.request_seconds)
        except KafkaDrError:
            self._abort()
            raise
        self._commit(doing)

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
            raise_translated(error, cluster=self._session.label, doing=doing)
        if error.retriable() and not expired:
            return True
        if error_class(error.code()) is NotAuthorized:
            raise_translated(error, cluster=self._session.label, doing=doing)
        raise OutcomeUnknown(f"{self._session.label}: the commit of {self._id} was not answered ({error.str()})")

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(self._session.request_seconds)
        except KafkaException:
            # The next writer with this id, or the transaction's own time-out, ends what is left open.
            return


def _produce(producer: Producer, record: NewRecord, on_delivery: object) -> None:
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
            # The client's queue is full; answers, or their deadline, make room.
            producer.poll(0.1)


def _question(partition: TopicPartition, config: Mapping[str, str]) -> NewRecord | None:
    """Return a record that the leader cannot take, or nothing where every record might be taken."""
    largest = int(config.get("max.message.bytes", -1))
    if 0 <= largest <= _LARGEST_QUESTION:
        return NewRecord(partition, None, _zeros(largest + 64 * 1024))
    keeps_create_time = config.get("message.timestamp.type") == "CreateTime"
    ahead = int(config.get("message.timestamp.after.max.ms", _FOREVER_MS))
    if keeps_create_time and ahead < _FOREVER_MS:
        return NewRecord(partition, None, b"?", timestamp_ms=int(time.time() * 1000) + _TEN_YEARS_MS)
    return None


@lru_cache(maxsize=4)
def _zeros(count: int) -> bytes:
    """Return the same bytes for every partition: making them anew would take longer than asking."""
    return bytes(count)


def _answer(partition: TopicPartition, error: KafkaError | None) -> WriteAnswer:
    if error is None:
        return WriteAnswer(partition, "allowed", "the leader appended the question: its limits changed meanwhile")
    return WriteAnswer(partition, _VERDICTS.get(error.code(), "unknown"), error.name())
