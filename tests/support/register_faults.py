"""Ways in which the register of a cluster that lives can be unusable, in a lab of two brokers a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.admin import AdminClient
from kafka import TopicPartition

from kafka_dr.adoption.adopt import adopt
from kafka_dr.register import REGISTER_TOPIC
from support.protection import Protection
from support.waiting import eventually, settled

_SECONDS = 30.0


class RegisterFault(ABC):
    """One such way.

    :param protection: a group in a lab that no other test uses at the same time
    """

    def __init__(self, protection: Protection, cluster: str) -> None:
        self.protection = protection
        self.cluster = cluster

    def prepare(self) -> None:
        """Leave nothing of an earlier test."""
        with self._admin() as admin:
            self._delete(admin)

    @contextmanager
    def present(self) -> Iterator[None]:
        """Have the fault, and a register that works again afterwards."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @abstractmethod
    def begin(self) -> None:
        """Make the register unusable."""

    @abstractmethod
    def end(self) -> None:
        """Make it work again, as its owners would."""

    def _stop_second_broker(self) -> None:
        self.protection.lab.kill(f"{self.cluster}-broker-2")
        with self._admin() as admin:
            eventually(lambda: 2 not in self._leaders(admin), seconds=_SECONDS)

    def _start_second_broker(self) -> None:
        self.protection.lab.restart(f"{self.cluster}-broker-2")
        with self.protection.cluster(self.cluster, "admin") as admin:
            settled(admin, (1, 2))

    def _admin(self) -> AdminClient:
        return AdminClient({**self.protection.lab.client_settings(self.cluster, "admin"), "log_level": 0})

    @staticmethod
    def _topics(admin: AdminClient) -> frozenset[str]:
        return frozenset(admin.list_topics(timeout=_SECONDS).topics)

    @staticmethod
    def _leaders(admin: AdminClient) -> set[int]:
        topics = admin.list_topics(timeout=_SECONDS).topics.values()
        return {partition.leader for topic in topics for partition in topic.partitions.values()}

    def _delete(self, admin: AdminClient) -> None:
        if REGISTER_TOPIC in self._topics(admin):
            for deleted in admin.delete_topics([REGISTER_TOPIC]).values():
                deleted.result(_SECONDS)
            eventually(lambda: REGISTER_TOPIC not in self._topics(admin))

    def _configure(self, setting: str, value: str) -> None:
        with self.protection.cluster(self.cluster, "admin") as admin:
            assert not admin.configs.set({REGISTER_TOPIC: {setting: value}})

    def _adopt_again(self) -> None:
        with self.protection.clients() as clients:
            adopt(self.protection.name, clients, "again")


class WithoutLeader(RegisterFault):
    """The only broker that has all of it is down."""

    def begin(self) -> None:
        """Let one broker have it, and stop that."""
        self._held_by(2)
        self._stop_second_broker()

    def end(self) -> None:
        """Start it."""
        self._start_second_broker()
        self._held_by(1, 2)

    def _held_by(self, *brokers: int) -> None:
        register = TopicPartition(REGISTER_TOPIC, 0)
        with self.protection.cluster(self.cluster, "admin") as admin:
            client = admin._session.python_admin
            assert not any(client.alter_partition_reassignments({register: list(brokers)}).values())
            eventually(lambda: not client.list_partition_reassignments())


class Gone(RegisterFault):
    """Somebody has deleted it, with everything that it held."""

    def begin(self) -> None:
        """Delete the topic."""
        with self._admin() as admin:
            self._delete(admin)

    def end(self) -> None:
        """Let ``dr_adopt`` create it."""
        self._adopt_again()


class TooFewReplicas(RegisterFault):
    """It can be read, and refuses every record, because a replica is missing."""

    def begin(self) -> None:
        """Stop the broker of the second replica, where two are needed."""
        self._configure("min.insync.replicas", "2")
        self._stop_second_broker()

    def end(self) -> None:
        """Start it."""
        self._start_second_broker()


class TooSmall(RegisterFault):
    """It can be read, and refuses every record, because its topic takes none of that size."""

    def begin(self) -> None:
        """Let the topic take next to nothing."""
        self._configure("max.message.bytes", "100")

    def end(self) -> None:
        """Let ``dr_adopt`` set it."""
        self._adopt_again()


FAULTS: tuple[type[RegisterFault], ...] = (WithoutLeader, Gone, TooFewReplicas, TooSmall)
