"""The lab's principals, and what its applications may do. What the project asks for its own: ``allowed``.

Patterns may contain ``{here}`` (the cluster that the right is given on), ``{source}`` (each one that a flow to it
begins on). Application principals have the same rights on every cluster: what keeps them from writing to a standby is
the fence, a DENY.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Resource(StrEnum):
    """What a right is about."""

    CLUSTER = "cluster"
    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional id"


class Operation(StrEnum):
    """What a right permits, by its name in Kafka."""

    ALL = "ALL"
    READ = "READ"
    WRITE = "WRITE"
    CREATE = "CREATE"
    DELETE = "DELETE"
    ALTER = "ALTER"
    DESCRIBE = "DESCRIBE"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE"


ALL, READ, WRITE, CREATE, DELETE = (
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
)
ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = (
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)


@dataclass(frozen=True, slots=True)
class Right:
    """One row of the table. A pattern that ends in ``*`` is a prefix, ``*`` alone is every name."""

    principal: str
    resource: Resource
    pattern: str
    operations: tuple[Operation, ...]
    reason: str


OPERATOR, REPLICATOR, AUDIT, PROBE = "dr-operator", "replicator", "audit", "probe"
ORDERS_APP, BILLING_APP = "orders-app", "billing-app"
APPLICATIONS = (ORDERS_APP, BILLING_APP)
#: Drills write and read as this one. A drill gives it every other right that it needs, and takes it back.
DRILL = "dr-drill"
PRINCIPALS = (OPERATOR, REPLICATOR, AUDIT, PROBE, *APPLICATIONS, DRILL)

_T, _G, _X, _C = Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID, Resource.CLUSTER
_NAME = "kafka-cluster"

#: What applications may do: their owners' matter, so no topology says it.
RIGHTS_OF_APPLICATIONS: tuple[Right, ...] = (
    Right(ORDERS_APP, _T, "orders.*", (READ, WRITE, DESCRIBE), "the application's work"),
    Right(ORDERS_APP, _G, "orders-*", (READ,), "the application's groups"),
    Right(BILLING_APP, _T, "orders.*", (READ, WRITE, DESCRIBE), "the application's work"),
    Right(BILLING_APP, _G, "billing-*", (READ,), "the application's groups"),
    Right(BILLING_APP, _X, "billing-*", (WRITE, DESCRIBE), "the application's transactions"),
)
#: And where copies have other names than their originals: an application that reads a topic reads its copies.
RIGHTS_ON_COPIES: tuple[Right, ...] = tuple(
    Right(application, _T, "{source}.orders.*", (READ, DESCRIBE), "what was written on other clusters")
    for application in APPLICATIONS
)
