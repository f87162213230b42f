"""What is really so on the cluster, as any client sees it: leaders, in-sync replicas, writes, and what logs hold."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.admin import KafkaAdminClient

from lab.demo.stretch.placed import DemoTopic
from lab.demo.stretch.writers import Partition
from lab.errors import LabError

_SECONDS = 20.0
#: How a write that is tried on purpose is marked: writers write numbers.
_TRIED = b"tried"
_QUIET: Mapping[str, Any] = {"log_level": 0, "client.id": "judge"}


@dataclass(frozen=True, slots=True)
class PartitionNow:
    """A partition as metadata shows it; the leader is ``None`` if there is none."""

    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClusterNow:
    """The cluster, reached as a principal.

    :param settings: of the administrator, in librdkafka's names
    """

    settings: Mapping[str, str]

    def active_controller(self) -> int:
        """Return the node that leads the metadata quorum."""
        translated = {key.replace(".", "_"): value for key, value in self.settings.items()}
        names = {"sasl_username": "sasl_plain_username", "sasl_password": "sasl_plain_password"}
        given: dict[str, Any] = {names.get(key, key): value for key, value in translated.items()}
        given["bootstrap_servers"] = self.settings["bootstrap.servers"].split(",")
        client = KafkaAdminClient(**given)
        try:
            return int(client.describe_metadata_quorum()["topics"][0]["partitions"][0]["leader_id"])
        finally:
            client.close()

    def create(self, topics: Iterable[DemoTopic]) -> None:
        """Create topics with exactly these replicas.

        :raises LabError: one is refused
        """
        new = [
            NewTopic(
                each.name,
                num_partitions=len(each.replicas),
                replica_assignment=[[*row] for row in each.replicas],
                config={"min.insync.replicas": str(each.min_in_sync)},
            )
            for each in topics
        ]
        with AdminClient({**self.settings, **_QUIET}) as admin:
            for name, future in admin.create_topics(new, request_timeout=_SECONDS).items():
                try:
                    future.result(_SECONDS + 1)
                except KafkaException as error:
                    raise LabError(f"the topic {name} could not be created: {error}") from error

    def seen(self) -> tuple[set[int], dict[Partition, PartitionNow]]:
        """Return the brokers that are up, and every partition."""
        with AdminClient({**self.settings, **_QUIET}) as admin:
            found = admin.list_topics(timeout=_SECONDS)
        partitions = {
            (topic.topic, number): PartitionNow(
                row.leader if row.leader >= 0 else None, tuple(row.replicas), tuple(row.isrs)
            )
            for topic in found.topics.values()
            for number, row in topic.partitions.items()
        }
        return {*found.brokers}, partitions

    def tried(self, partitions: Iterable[Partition]) -> dict[Partition, str]:
        """Write one record to each with acks=all, once; return ``written``, or the name of the error."""
        once = {"acks": "all", "message.send.max.retries": 0, "linger.ms": 0, "message.timeout.ms": 5000}
        producer = Producer({**self.settings, **_QUIET, **once})
        found: dict[Partition, str] = {}

        def noted(partition: Partition) -> Callable[[KafkaError | None, Any], None]:
            def note(error: KafkaError | None, _message: Any) -> None:
                found[partition] = "written" if error is None else error.name()

            return note

        for topic, number in partitions:
            producer.produce(topic, _TRIED, partition=number, on_delivery=noted((topic, number)))
        producer.flush(_SECONDS)
        return found

    def contents(self, partitions: Iterable[Partition]) -> dict[Partition, Counter[int]]:
        """Return how often each record of a writer is in its partition, from the beginning to the end.

        :raises LabError: a partition could not be read
        """
        wanted = [*partitions]
        settings = {"group.id": "stretch.judge", "enable.auto.commit": False, "auto.offset.reset": "error"}
        consumer = Consumer({**self.settings, **_QUIET, **settings})
        try:
            ends = {p: consumer.get_watermark_offsets(TopicPartition(*p), timeout=_SECONDS)[1] for p in wanted}
            consumer.assign([TopicPartition(topic, number, 0) for topic, number in wanted])
            found: dict[Partition, Counter[int]] = {p: Counter() for p in wanted}
            missing = {p for p, end in ends.items() if end}
            deadline = time.monotonic() + 3 * _SECONDS
            while missing:
                if time.monotonic() > deadline:
                    raise LabError(f"{len(missing)} partitions could not be read to their end, as {min(missing)}")
                message = consumer.poll(1.0)
                if message is None or message.error():
                    continue
                partition = (message.topic(), message.partition())
                if (value := message.value()) != _TRIED:
                    found[partition][int(value)] += 1
                if message.offset() + 1 >= ends[partition]:
                    missing.discard(partition)
        finally:
            consumer.close()
        return found


@dataclass(frozen=True, slots=True)
class GroupCommits:
    """A consumer group of an application, whose coordinator is on the cluster.

    :param settings: of the application's principal
    """

    settings: Mapping[str, str]
    group: str
    partition: Partition

    def commit(self, offset: int, *, seconds: float) -> bool:
        """Return whether a commit succeeds within a time."""
        consumer = Consumer({**self.settings, **_QUIET, "group.id": self.group, "enable.auto.commit": False})
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline:
                try:
                    consumer.commit(offsets=[TopicPartition(*self.partition, offset)], asynchronous=False)
                    return True
                except KafkaException:
                    time.sleep(0.5)
        finally:
            consumer.close()
        return False
