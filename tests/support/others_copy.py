"""A copy that somebody else's replicator has made, with faults that are known, on the lab's real clusters."""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    ClientSettings,
    ClusterUnreachable,
    KafkaCluster,
    PatternType,
    ResourceType,
)
from kafka_dr.positions import TopicPartition
from kafka_dr.waiting import wait_until
from lab import rights
from lab.api import Lab
from support.command_line import Said
from support.observed_command import FROM_EAST_TO_WEST, run_observing

_OPERATIONS = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)


@dataclass(frozen=True, slots=True)
class Content:
    """A record as an application writes it.

    :param age: seconds before now
    """

    value: str
    key: str | None = None
    age: float = 600.0


@dataclass(frozen=True, slots=True)
class OthersCopy:
    """Topics on east, and their copies on west under the names of MirrorMaker's default policy.

    :param alias: of the source; nobody else uses it
    """

    lab: Lab
    folder: Path
    alias: str = field(default_factory=lambda: f"a{uuid.uuid4().hex[:8]}")
    began: float = field(default_factory=time.time)

    @property
    def topic(self) -> str:
        """The topic on the source."""
        return f"orders.{self.alias}"

    @property
    def checkpoints(self) -> str:
        """The topic of the replicator's checkpoints, on west."""
        return f"{self.alias}.checkpoints.internal"

    def cluster(self, name: str, principal: str = rights.AUDIT) -> KafkaCluster:
        """Return a cluster as a principal sees it."""
        return KafkaCluster(name, ClientSettings.from_librdkafka(self.lab.client_settings(name, principal)))

    def create(self, cluster: str, topic: str, *, partitions: int = 1, **configs: str) -> None:
        """Create a topic, and let the observer read it on west as it may on east."""
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        with self.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=partitions, replication_factor=1, config=dotted)

    def right(self, operation: AclOperation) -> Acl:
        """Return the right of the observer on everything with the alias."""
        principal = f"User:{rights.AUDIT}"
        topics, prefixed = ResourceType.TOPIC, PatternType.PREFIXED
        return Acl(topics, f"{self.alias}.", prefixed, principal, operation, AclPermission.ALLOW)

    def allow(self) -> None:
        """Give the observer READ, DESCRIBE and DESCRIBE_CONFIGS on the copies."""
        with self.cluster("west", "admin") as admin:
            admin.acls.add([self.right(each) for each in _OPERATIONS])

    def write(
        self, cluster: str, topic: str, records: Iterable[Content], *, partition: int = 0, abort: bool | None = None
    ) -> None:
        """Write records.

        :param abort: in one transaction, which is aborted or committed; ``None``: without one
        """
        settings: dict[str, Any] = {**self.lab.client_settings(cluster, "admin"), "linger.ms": 5}
        own = f"{self.alias}-{uuid.uuid4().hex[:6]}"
        producer = Producer(settings if abort is None else {**settings, "transactional.id": own})
        if abort is not None:
            producer.init_transactions(30)
            producer.begin_transaction()
        for each in records:
            stamp = int((self.began - each.age) * 1000)
            producer.produce(topic, each.value, key=each.key, partition=partition, timestamp=stamp)
        assert producer.flush(30) == 0
        if abort is not None:
            (producer.abort_transaction if abort else producer.commit_transaction)(30)
            self._wait_for_markers(cluster, own)

    @contextmanager
    def open_transaction(self, cluster: str, topic: str, records: Iterable[Content]) -> Iterator[Producer]:
        """Write records in a transaction that is open in the block; it is aborted at the end unless it was ended."""
        own = f"{self.alias}-{uuid.uuid4().hex[:6]}"
        producer = Producer({**self.lab.client_settings(cluster, "admin"), "transactional.id": own})
        producer.init_transactions(30)
        producer.begin_transaction()
        for each in records:
            producer.produce(
                topic, each.value, key=each.key, partition=0, timestamp=int((self.began - each.age) * 1000)
            )
        assert producer.flush(30) == 0
        yield producer
        self._wait_for_markers(cluster, own)

    def _wait_for_markers(self, cluster: str, transactional_id: str) -> None:
        """Kafka answers a commit before it has written the markers; who takes the id over waits for that."""
        with self.cluster(cluster, "admin") as admin:
            admin.transactions.take_over([transactional_id])

    def commit(self, cluster: str, group: str, topic: str, offsets: dict[int, int]) -> None:
        """Commit offsets of a group."""
        wanted = {group: {TopicPartition(topic, n): offset for n, offset in offsets.items()}}
        with self.cluster(cluster, "admin") as admin:
            # A cluster that has just started may not know yet who coordinates the group.
            wait_until(
                lambda: admin.groups.set_offsets(wanted),
                lambda _: True,
                clock=SystemClock(),
                seconds=30,
                retry=ClusterUnreachable,
            )

    def checkpoint(self, group: str, partition: int, upstream: int, downstream: int) -> None:
        """Write a checkpoint as MirrorMaker does."""
        topic = f"{self.alias}.{self.topic}"
        key = b"".join(struct.pack(">h", len(each)) + each.encode() for each in (group, topic))
        value = struct.pack(">hqqh", 0, upstream, downstream, 0)
        producer = Producer(self.lab.client_settings("west", "admin"))
        producer.produce(self.checkpoints, value, key=key + struct.pack(">i", partition), partition=0)
        assert producer.flush(30) == 0

    def declared(self, **more: Any) -> dict[str, Any]:
        """Return the flow as the topology declares it."""
        return {
            **FROM_EAST_TO_WEST,
            "naming": {"policy": "default", "source_alias": self.alias},
            "topics": [self.topic],
            "consumer_group_prefixes": [f"orders-{self.alias}-"],
            **more,
        }

    def run(self, *arguments: str, **more: Any) -> Said:
        """Run a command with a topology of this flow alone, as a person does on the first day."""
        return run_observing(self.lab, self.folder, {"theirs": self.declared(**more)}, *arguments)
