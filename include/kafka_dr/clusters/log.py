"""Read records by exact offsets."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from typing import Literal

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters.errors import ClusterUnreachable, log_if_slow, raise_translated
from kafka_dr.clusters.model import Record
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.durations import duration
from kafka_dr.positions import OffsetRange, TopicPartition

Isolation = Literal["read_committed", "read_uncommitted"]

_BATCH = 2_000
#: Offsets of a short range: what a fetch of the usual size holds beyond it would take longer than the range itself.
_SHORT = 1_000
#: Of more partitions large batches would come in too many small answers: a broker puts one that is too large for its
#: partition into an answer only alone.
_FEW_PARTITIONS = 16
#: So many partitions a message names, and so many topics are looked up one after the other.
_FEW = 3
#: While more ranges than this are open, what arrives is gathered for so many seconds: each batch has a cost of its own.
_MANY, _MANY_SECONDS = 100, 0.02
#: If nothing arrives for this long, in seconds, the topics' metadata are checked for errors.
_SUSPICIOUS_SECONDS = 1.0


class Log:
    """Reads records. Nothing is ever committed and no group is joined."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def read(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        *,
        isolation: Isolation = "read_committed",
        stall_seconds: float = 15.0,
    ) -> Iterator[Record]:
        """Yield every record of the ranges, in order within each partition.

        A range is complete when a record at or past its end arrives, or when the log ends. Control records and aborted
        records occupy offsets, but are not yielded.

        :param stall_seconds: give up if nothing arrives for this long
        :raises ClusterUnreachable: nothing arrived for ``stall_seconds``
        :raises ClusterError: an offset of a range is gone, or the cluster refused
        """
        open_ends = {partition: wanted.end for partition, wanted in ranges.items() if len(wanted)}
        if not open_ends:
            return
        short = len(open_ends) <= _FEW_PARTITIONS and all(len(wanted) <= _SHORT for wanted in ranges.values())
        with self._session.reader(isolation, {partition.topic for partition in open_ends}, short=short) as consumer:
            doing = "start reading"
            with self._session.observed(doing), self._session.translated(doing):
                consumer.assign([ClientPartition(p.topic, p.partition, ranges[p].start) for p in open_ends])
            yield from self._until_ends(consumer, open_ends, stall_seconds)
            # A paused partition would stay paused in the next assignment.
            consumer.resume([ClientPartition(p.topic, p.partition) for p in ranges if len(ranges[p])])

    def _until_ends(
        self, consumer: Consumer, open_ends: dict[TopicPartition, int], stall_seconds: float
    ) -> Iterator[Record]:
        began = time.monotonic()
        deadline = began + stall_seconds
        suspicious = time.monotonic() + min(stall_seconds, _SUSPICIOUS_SECONDS)
        while open_ends:
            finished: list[TopicPartition] = []
            arrived = _arrived(consumer, _MANY_SECONDS if len(open_ends) > _MANY else 0.0)
            if (yield from self._wanted(arrived, open_ends, finished)):
                deadline = time.monotonic() + stall_seconds
            if finished:
                # Records after a finished range would be fetched for nothing.
                consumer.pause([ClientPartition(p.topic, p.partition) for p in finished])
            if (now := time.monotonic()) > suspicious:
                log_if_slow(self._session.label, f"read {_first_few(open_ends)} so far", now - began)
                self._raise_errors_of({partition.topic for partition in open_ends}, consumer)
                # While topics were looked up, nothing was taken from the consumer.
                deadline += time.monotonic() - now
                suspicious = deadline + stall_seconds
            if time.monotonic() > deadline:
                left = _first_few(open_ends)
                stalled = f"{self._session.label}: no record of {left} arrived for {duration(stall_seconds)}"
                raise self._session.contact.why(ClusterUnreachable(stalled))

    def _raise_errors_of(self, topics: set[str], consumer: Consumer) -> None:
        """Raise the error that the topics' metadata show, if any: the consumer itself waits without an error."""
        for topic in sorted(topics - self._seen_without_error(topics, consumer)):
            with self._session.translated(f"look at {topic}"):
                error = self._session.look_up(consumer, topic).topics[topic].error
            if error is not None:
                raise_translated(error, cluster=self._session.label, doing=f"read {topic}")

    def _seen_without_error(self, topics: set[str], consumer: Consumer) -> set[str]:
        """Return topics that need no look of their own; of a few topics each gets one.

        One answer has all topics. A topic that the principal may not see is missing in it, without an error.
        """
        if len(topics) <= _FEW:
            return set()
        with self._session.translated("look at the topics"):
            found = self._session.look_up(consumer).topics
        return {topic for topic in topics if topic in found and found[topic].error is None}

    def _wanted(
        self, arrived: Iterable[Message], open_ends: dict[TopicPartition, int], finished: list[TopicPartition]
    ) -> Generator[Record, None, bool]:
        """Yield what is wanted of messages, and move the ranges that are complete from the open to the finished ones.

        :returns: whether anything was of an open range
        """
        progress = False
        for message in arrived:
            partition, error = TopicPartition(message.topic(), message.partition()), message.error()
            if error is not None and not self._is_end(error, partition):
                continue
            # Of a range that is complete, more may have arrived already.
            if (end := open_ends.get(partition)) is None:
                continue
            progress, offset = True, message.offset()
            # The event for the end of the log has the offset that would be read next.
            if offset >= (end - 1 if error is None else end):
                del open_ends[partition]
                finished.append(partition)
            if error is None and offset < end:
                yield to_record(message)
        return progress

    def _is_end(self, error: KafkaError, partition: TopicPartition) -> bool:
        """Return whether an event says that the end of a log is reached; raise the error if it says anything else."""
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            # librdkafka looks for its group's coordinator although this consumer joins no group.
            return False
        if error.code() != KafkaError._PARTITION_EOF:
            raise_translated(error, cluster=self._session.label, doing=f"read {partition}")
        return True


def _first_few(partitions: Collection[TopicPartition]) -> str:
    shown = ", ".join(map(str, sorted(partitions)[:_FEW]))
    return f"{shown} and {len(partitions) - _FEW} more" if len(partitions) > _FEW else shown


def _arrived(consumer: Consumer, seconds: float) -> list[Message]:
    """Return what has arrived as soon as anything has: asking for many messages would wait for many.

    :param seconds: how much longer to wait for more
    """
    first = consumer.poll(0.2)
    return [] if first is None else [first, *consumer.consume(_BATCH, timeout=seconds)]


def to_record(message: Message) -> Record:
    """Return a message of the client library as this project's record."""
    kind, timestamp_ms = message.timestamp()
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=timestamp_ms,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
        stamped=kind == TIMESTAMP_LOG_APPEND_TIME,
    )
