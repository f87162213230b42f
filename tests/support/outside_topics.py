"""Consumer groups of a protection group that also read topics outside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer

from kafka_dr.clusters import TopicPartition
from kafka_dr.topology.readers import GroupsPolicy
from support.protection import Protection


@dataclass(frozen=True, slots=True)
class OutsideTopics:
    """Two topics outside a protection group: one of a neighbour's, one of nobody's."""

    protection: Protection
    neighbour: str
    of_neighbour: str
    of_nobody: str

    @classmethod
    def create(cls, protection: Protection, cluster: str) -> OutsideTopics:
        """Declare a neighbour and create both topics on a cluster, of two partitions each."""
        neighbour = f"n{protection.name}"
        protection.neighbours = (neighbour,)
        made = cls(protection, neighbour, f"{neighbour}.items", f"x{protection.name}.log")
        with protection.cluster(cluster, "admin") as admin:
            there = admin.topics.names()
            for topic in {made.of_neighbour, made.of_nobody} - there:
                admin.topics.create(topic, partitions=2, replication_factor=1, config={})
        return made

    def leave_out(self) -> None:
        """Let the policy leave such positions out."""
        self.protection.changes["groups_policy"] = GroupsPolicy(other_topics="leave_out")

    def commit(self, cluster: str, group: str, topic: str, *offsets: int) -> None:
        """Commit positions there, as the application would."""
        self.protection.commit(cluster, group, {TopicPartition(topic, n): offset for n, offset in enumerate(offsets)})


@contextmanager
def member(
    protection: Protection, cluster: str, group: str, *topics: str, protocol: str = "classic"
) -> Iterator[Consumer]:
    """Let a live member of a group read topics, which has its partitions and has committed nothing."""
    settings = {
        **protection.lab.client_settings(cluster, "admin"),
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    consumer, assigned, over = Consumer(settings), threading.Event(), threading.Event()
    consumer.subscribe(list(topics), on_assign=lambda *_: assigned.set())

    def poll() -> None:
        while not over.is_set():
            consumer.poll(0.05)

    reader = threading.Thread(target=poll, daemon=True)
    reader.start()
    try:
        assert assigned.wait(30), f"{group} was assigned nothing within 30 s"
        yield consumer
    finally:
        over.set()
        reader.join(10)
        consumer.close()
