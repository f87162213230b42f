"""What the clusters hold: every visible record of the topics, and every position ever stored for a group.

They are read by a plain client as the lab's super user, which no fence stops.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from lab.errors import LabError
from lab.invariants.model import Commit, LogRecord, Partition, RecordId
from lab.invariants.names import Names
from lab.traffic.records import fingerprint, identify

POSITIONS = "__consumer_offsets"
#: The header by which a stranded record that was published again says when it was made.
ORIGIN_TIME = "kafka-dr-origin-timestamp"
#: Stranded records whose key has newer records are published to a topic with this ending.
ASIDE = ".stranded"
PATIENCE_SECONDS = 30.0  # without any answer; how long a log is does not matter
_AT_ONCE = 5000


class ClusterReader:
    """Reads one cluster.

    :param cluster: its name
    :param settings: how to reach it, in librdkafka's names
    :param names: of topics; the same everywhere if left out
    """

    def __init__(self, cluster: str, settings: Mapping[str, str], names: Names | None = None) -> None:
        self._cluster = cluster
        self._settings = settings
        self._names = names or Names()

    def logs(self, topics: Sequence[str]) -> dict[Partition, tuple[LogRecord, ...]]:
        """Every committed record of the topics, their copies and their ``.stranded`` topics, in each log's order.

        :raises LabError: the cluster does not show all of them
        """
        found: dict[Partition, list[LogRecord]] = {}
        wanted = [*self._names.on(self._cluster, topics), *(f"{topic}{ASIDE}" for topic in topics)]
        for message in self._all(wanted, _expect_partition(found)):
            found[_partition(message)].append(_held(message))
        return {
            self._names.place(self._cluster, partition.topic, partition.number): tuple(held)
            for partition, held in found.items()
        }

    def commits(self, groups: Collection[str]) -> list[Commit]:
        """Every position that was stored for the groups, whoever stored it, the latest last.

        :raises LabError: the cluster does not show all of them
        """
        commits = []
        for message in self._all([POSITIONS], lambda _: None):
            stored = decode_position(message.key(), message.value())
            if stored is not None and stored[0] in groups:
                group, topic, number, offset = stored
                at = message.timestamp()[1] / 1000
                place = self._names.place(self._cluster, topic, number)
                commits.append(Commit(group, place, offset, self._cluster, at))
        return sorted(commits, key=lambda commit: commit.at)

    def _all(self, topics: Sequence[str], expect: Callable[[Partition], None]) -> Iterator[Message]:
        """Every visible record from the first to the end that the log has now."""
        consumer = Consumer(self._client())
        try:
            waiting = self._assign(consumer, topics)
            for partition in waiting:
                expect(partition)
            heard = time.monotonic()
            while waiting:
                messages = consumer.consume(_AT_ONCE, timeout=0.2)
                if messages:
                    heard = time.monotonic()
                elif time.monotonic() - heard > PATIENCE_SECONDS:
                    raise LabError(
                        f"{self._cluster} showed nothing for {PATIENCE_SECONDS:.0f} s, and {min(waiting)} is not read "
                        "to its end: nothing can be checked; see `status`"
                    )
                for message in messages:
                    if self._is_record(message):
                        yield message
                    else:
                        waiting.discard(_partition(message))
        except KafkaException as error:
            raise LabError(f"{self._cluster} cannot be read: {error}") from error
        finally:
            consumer.close()

    def _is_record(self, message: Message) -> bool:
        """Whether this is a record; else it says that the end of its partition is reached."""
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise LabError(f"{self._cluster} refuses a read of {_partition(message)}: {error}")
        return error is None

    def _assign(self, consumer: Consumer, topics: Sequence[str]) -> set[Partition]:
        metadata = consumer.list_topics(timeout=10.0).topics
        partitions = {
            Partition(topic, number) for topic in topics if topic in metadata for number in metadata[topic].partitions
        }
        optional = (POSITIONS, *(topic for topic in topics if topic.endswith(ASIDE)))
        missing = [topic for topic in topics if topic not in metadata and topic not in optional]
        if missing:
            raise LabError(f"{self._cluster} has no topic {missing[0]}: there is nothing to check")
        consumer.assign([TopicPartition(each.topic, each.number, 0) for each in sorted(partitions)])
        return partitions

    def _client(self) -> dict[str, Any]:
        return {
            **self._settings,
            "client.id": "invariants",
            "group.id": "lab-invariants",  # the client wants a name; nothing is ever stored under it
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "check.crcs": True,
            "fetch.wait.max.ms": 20,
            "log_level": 2,
        }


def decode_position(key: bytes | None, value: bytes | None) -> tuple[str, str, int, int] | None:
    """Read one record of the topic in which a cluster stores positions.

    :returns: group, topic, partition, offset; ``None`` for a record about something else, or a removal
    """
    if key is None or value is None:
        return None
    (version,) = struct.unpack_from(">h", key)
    if version not in {0, 1}:
        return None
    group, at = _string(key, 2)
    topic, at = _string(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    (offset,) = struct.unpack_from(">q", value, 2)
    return group, topic, partition, offset


def _string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    return data[at + 2 : at + 2 + length].decode(), at + 2 + length


def _expect_partition(found: dict[Partition, list[LogRecord]]) -> Callable[[Partition], None]:
    return lambda partition: found.__setitem__(partition, [])


def _partition(message: Message) -> Partition:
    return Partition(message.topic() or "", message.partition() or 0)


def _held(message: Message) -> LogRecord:
    offset = message.offset() or 0
    who = identify(message.headers())
    if who is None:
        return LogRecord(offset, None)
    origin = _origin(message)
    time_ms = message.timestamp()[1] if origin is None else origin
    now = fingerprint(message.key(), message.value(), time_ms)
    record = RecordId(who.application, who.sequence)
    return LogRecord(offset, record, intact=now == who.fingerprint, rescued=origin is not None)


def _origin(message: Message) -> int | None:
    """When a record was made that was published again; ``None`` for one that was written or copied in the usual way."""
    said = dict(message.headers() or ())
    return int(said[ORIGIN_TIME]) if ORIGIN_TIME in said else None
