"""A protection group's flow, driven by hand: no steps, no register, no fences; only logs and what copies them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.positions import SeedPoint
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.replication.moving import data_ends
from kafka_dr.replication.replicator import Replicator
from kafka_dr.runs.clients import Clients
from lab import rights
from support import mirrormaker
from support.protection import Protection

_SECONDS = 60.0


@dataclass(slots=True)
class PlainFlow:
    """A group between two clusters; ``active`` is the one that is written to."""

    protection: Protection
    clients: Clients
    active: str = "east"
    epoch: int = 1
    seeds: dict[TopicPartition, list[tuple[str, SeedPoint]]] = field(default_factory=dict)

    @property
    def standby(self) -> str:
        return "west" if self.active == "east" else "east"

    @property
    def flow(self) -> Flow:
        return Flow(self.protection.name, self.active, self.standby)

    @property
    def replicator(self) -> Replicator:
        return self.clients.replicator(self.flow)

    @property
    def connector(self) -> Mm2Replicator:
        """The flow as MirrorMaker 2 runs it."""
        return mirrormaker.connector(self.clients, self.flow)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Those that the tests write to."""
        return tuple(TopicPartition(self.protection.topic, number) for number in range(self.protection.partitions))

    @property
    def copied_partitions(self) -> tuple[TopicPartition, ...]:
        """Those that the flow copies: the canaries', too."""
        return (*self.partitions, TopicPartition(self.protection.group.canary_topic, 0))

    def audit(self, cluster: str) -> KafkaCluster:
        return self.clients.cluster(cluster, "audit")

    def start(self, positions: Mapping[TopicPartition, int] | None = None) -> None:
        """Start the flow of the present direction at these positions."""
        self.replicator.ensure(stopped=True)
        self.replicator.wait_stopped(_SECONDS)
        self.replicator.seed(positions or {}, epoch=self.epoch)
        self.replicator.resume()
        assert self.replicator.wait_running(_SECONDS).state == "running"

    def stop(self) -> None:
        self.replicator.stop()
        assert self.replicator.wait_stopped(_SECONDS).state == "stopped"

    def wait_copied(
        self, partitions: Sequence[TopicPartition] = (), *, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Wait until no data record of the active cluster is left to copy.

        :param partitions: more than those that every group has
        :param meanwhile: done before each look
        """
        source, wanted = self.audit(self.active), (*self.copied_partitions, *partitions)
        deadline = time.monotonic() + _SECONDS
        while True:
            meanwhile()
            done = self.replicator.positions()
            ends = data_ends(source, done, source.topics.last_stable_offsets(wanted))
            left = {str(p): (done.get(p, 0), end) for p, end in ends.items() if done.get(p, 0) < end}
            if not left:
                return
            assert time.monotonic() < deadline, (left, self.replicator.status())
            time.sleep(0.1)

    def switch(self) -> None:
        """Let the standby be written to, and reverse the flow where both logs end."""
        self.wait_copied()
        self.stop()
        here = self.audit(self.active).topics.last_stable_offsets(self.copied_partitions)
        there = self.audit(self.standby).topics.last_stable_offsets(self.copied_partitions)
        for partition in self.partitions:
            seed = SeedPoint(here[partition], there[partition])
            self.seeds.setdefault(partition, []).append((self.active, seed))
        self.active, self.epoch = self.standby, self.epoch + 1
        self.start(there)

    def sync_lookup(self, source: str, target: str) -> SyncLookup:
        """Return what looks up the offset syncs between two clusters; nothing of them is archived."""
        source_id, target_id = (self.audit(name).topics.identity().cluster_id for name in (source, target))
        root = self.protection.folder / "evidence"
        return SyncLookup(self.audit(source), self.audit(target), root=root, cluster_ids=(source_id, target_id))

    def known_seeds(self) -> dict[TopicPartition, list[SeedPoint]]:
        """Return the offsets of all switches, as seen from the active cluster."""
        return {
            partition: [seed if side == self.active else seed.reversed for side, seed in found]
            for partition, found in self.seeds.items()
        }

    def write(self, count: int) -> None:
        """Write records with everything that a record can have."""
        shapes: Sequence[tuple[bytes | None, tuple[tuple[str, bytes], ...]]] = (
            (b"key", (("h", b"\x00\xff"), ("h", b"twice"))),
            (None, ()),
            (b"", (("empty", b""),)),
        )
        with self._application() as client:
            client.writing.append(
                NewRecord(self.partitions[number % 2], *self._content(shapes, number)) for number in range(count)
            )
            client.writing.append(NewRecord(partition, b"deleted", None) for partition in self.partitions)

    def write_in_transactions(self, count: int) -> None:
        """Write in transactions of a few records, of which every third is aborted."""
        settings = self.protection.lab.client_settings(self.active, rights.BILLING_APP)
        producer = Producer({**settings, "transactional.id": f"{self.protection.name}-tx"})
        producer.init_transactions(_SECONDS)
        for number in range(count):
            producer.begin_transaction()
            for partition in self.partitions:
                producer.produce(partition.topic, partition=partition.partition, key=b"tx", value=uuid.uuid4().bytes)
            producer.flush(_SECONDS)
            if number % 3 == 2:
                producer.abort_transaction(_SECONDS)
            else:
                producer.commit_transaction(_SECONDS)

    def write_foreign(self, cluster: str) -> None:
        """Write a record to every partition on a cluster, active or not."""
        with self.protection.cluster(cluster, "admin") as client:
            client.writing.append(NewRecord(partition, b"alien", uuid.uuid4().bytes) for partition in self.partitions)

    def expire(self, cluster: str, partition: TopicPartition, below: int) -> None:
        """Let a cluster delete what is below an offset, as retention does."""
        with AdminClient(self.protection.lab.client_settings(cluster, "admin")) as client:
            for deleted in client.delete_records(
                [ClientPartition(partition.topic, partition.partition, below)]
            ).values():
                deleted.result(_SECONDS)

    def create_again(self, cluster: str) -> None:
        """Delete a cluster's topic and create it again, empty."""
        self.delete(cluster)
        topic = self.protection.topic
        with self.protection.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=self.protection.partitions, replication_factor=1, config={})
            self._until_seen(admin, there=True)

    def delete(self, cluster: str) -> None:
        """Delete a cluster's topic."""
        topic = self.protection.topic
        with AdminClient(self.protection.lab.client_settings(cluster, "admin")) as client:
            client.delete_topics([topic])[topic].result(_SECONDS)
        with self.protection.cluster(cluster, "admin") as admin:
            self._until_seen(admin, there=False)

    def _until_seen(self, admin: KafkaCluster, *, there: bool) -> None:
        """Wait until the broker has heard of what the controller decided."""
        deadline = time.monotonic() + _SECONDS
        while (self.protection.topic in admin.topics.names()) is not there:
            assert time.monotonic() < deadline, f"{self.protection.topic}: nobody has heard of it yet"
            time.sleep(0.1)

    def log(self, cluster: str, partition: TopicPartition) -> list[tuple[int, object]]:
        """Return what is in a partition: offset and content of each committed record."""
        reader = self.audit(cluster)
        start = reader.topics.log_starts([partition])[partition]
        end = reader.topics.last_stable_offsets([partition])[partition]
        return [
            (record.offset, (record.timestamp_ms, record.key, record.value, record.headers))
            for record in reader.log.read({partition: OffsetRange(start, end)})
        ]

    def _application(self) -> KafkaCluster:
        return self.protection.cluster(self.active, rights.ORDERS_APP)

    @staticmethod
    def _content(
        shapes: Sequence[tuple[bytes | None, tuple[tuple[str, bytes], ...]]], number: int
    ) -> tuple[bytes | None, bytes, tuple[tuple[str, bytes], ...]]:
        key, headers = shapes[number % len(shapes)]
        return key, uuid.uuid4().bytes, headers
