"""The values that describe a Kafka cluster. No client library is imported in this module."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from kafka_dr.positions import TopicPartition


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the cluster describes it.

    :param topic_id: the id that changes when a topic is deleted and created again (KIP-516)
    :param leaders: broker id of the leader, by partition number; -1 if there is none
    """

    name: str
    topic_id: str
    leaders: tuple[int, ...]

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Every partition of the topic, in order."""
        return tuple(TopicPartition(self.name, number) for number in range(len(self.leaders)))


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """Which cluster answered, and with which brokers."""

    cluster_id: str
    brokers: tuple[int, ...]
    controller: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """A record in a log.

    :param offset: the offset *of* the record (not the next one to read)
    :param timestamp_ms: milliseconds since the epoch, as stored
    :param headers: in their order; names may repeat
    :param stamped: whether its timestamp was set by the broker (``LogAppendTime``)
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = field(default=(), repr=False)
    stamped: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that holds the record."""
        return TopicPartition(self.topic, self.partition)


class ResourceType(StrEnum):
    """The kinds of resources that an ACL can name."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    TRANSACTIONAL_ID = "transactional_id"


class PatternType(StrEnum):
    """How an ACL names its resources. Kafka has no regular expressions for them (KIP-290)."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class AclOperation(StrEnum):
    """The operations of Kafka's authorizer."""

    ALL = "ALL"
    READ = "READ"
    WRITE = "WRITE"
    CREATE = "CREATE"
    DELETE = "DELETE"
    ALTER = "ALTER"
    DESCRIBE = "DESCRIBE"
    CLUSTER_ACTION = "CLUSTER_ACTION"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE"


class AclPermission(StrEnum):
    """Whether an ACL allows or denies. A DENY wins over every ALLOW."""

    ALLOW = "ALLOW"
    DENY = "DENY"


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One ACL."""

    resource: ResourceType
    name: str
    pattern: PatternType
    principal: str
    operation: AclOperation
    permission: AclPermission
    host: str = "*"

    def __str__(self) -> str:
        return f"{self.permission} {self.operation} on {self.resource} {self.name} ({self.pattern}) to {self.principal}"

    def covers(self, name: str) -> bool:
        """Return whether it is about a resource of its kind that has this name (KIP-290)."""
        return name.startswith(self.name) if self.pattern is PatternType.PREFIXED else self.name in ("*", name)


@dataclass(frozen=True, slots=True)
class GroupState:
    """A consumer group, as its coordinator describes it.

    :param state: ``STABLE``, ``EMPTY``, ``PREPARING_REBALANCING``, ``DEAD`` …; ``UNKNOWN`` if it could not be read
    :param members: client id and host of each live member
    :param authorized_operations: what the asking principal may do with the group
    :param assignor: the name of the assignor that shares partitions among members; empty if there is no member
    :param assigned: the topics of which members have, or are about to get, partitions
    """

    group: str
    state: str
    members: tuple[str, ...]
    authorized_operations: frozenset[AclOperation]
    assignor: str = ""
    assigned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that its coordinator holds in a state other than complete.

    :param partitions: what it has written to so far; empty if unknown
    :param began_at: when it began, UTC; ``None`` if unknown
    :param timeout_seconds: after how long its coordinator aborts it; ``None`` if unknown
    """

    transactional_id: str
    producer_id: int
    state: str
    partitions: frozenset[TopicPartition] = frozenset()
    began_at: datetime | None = None
    timeout_seconds: float | None = None


#: A leader's answer to a test write that is never appended. ``unable``: the principal may write, but the leader accepts
#: no write now, because too few replicas are in sync (``min.insync.replicas``). ``unknown``: the leader could not be
#: asked, or gave another error.
WriteVerdict = Literal["refused", "allowed", "unable", "unknown"]


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The answer of one partition's leader to a test write."""

    partition: TopicPartition
    verdict: WriteVerdict
    detail: str
