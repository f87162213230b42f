"""Who may do what on the lab's clusters: one table, applied by the lab and shown in `include/guide/rights.md`.

Patterns may contain ``{here}`` (the cluster that the right is given on), ``{source}`` (each one that a flow to it
begins on). Application principals have the same rights on every cluster: what keeps them from writing to a standby is
the fence, a DENY.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from lab.clusters import Cluster
from lab.layout import Flows


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


@dataclass(frozen=True, slots=True)
class Allowed:
    """One ALLOW binding, as a broker stores it."""

    principal: str
    resource: Resource
    name: str
    prefixed: bool
    operation: Operation


OPERATOR, REPLICATOR, AUDIT, PROBE = "dr-operator", "replicator", "audit", "probe"
ORDERS_APP, BILLING_APP = "orders-app", "billing-app"
APPLICATIONS = (ORDERS_APP, BILLING_APP)
#: Drills write and read as this one. A drill gives it every other right that it needs, and takes it back.
DRILL = "dr-drill"
PRINCIPALS = (OPERATOR, REPLICATOR, AUDIT, PROBE, *APPLICATIONS, DRILL)

_T, _G, _X, _C = Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID, Resource.CLUSTER
_NAME = "kafka-cluster"

RIGHTS: tuple[Right, ...] = (
    Right(
        OPERATOR,
        _C,
        _NAME,
        (DESCRIBE, DESCRIBE_CONFIGS),
        "read brokers and ACLs, and whether the authorizer's settings are set",
    ),
    Right(OPERATOR, _C, _NAME, (ALTER,), "add and lift the DENYs that are the fences"),
    Right(OPERATOR, _C, _NAME, (ALTER_CONFIGS,), "give the standby the active cluster's client quotas"),
    Right(OPERATOR, _T, "orders.*", (CREATE, ALTER, ALTER_CONFIGS), "keep the standby's topics like the active ones"),
    Right(OPERATOR, _T, "*", (DESCRIBE, DESCRIBE_CONFIGS), "see every topic that a prefix can match"),
    Right(OPERATOR, _T, "orders.*", (READ,), "compare records; commit offsets for groups"),
    Right(OPERATOR, _T, "mm2-offset-syncs.*", (READ,), "narrow down offsets before records are compared"),
    Right(OPERATOR, _T, "connect-{here}-offsets", (READ,), "see what a flow has copied when its source is down"),
    Right(OPERATOR, _T, "_kafka_dr.*", (CREATE, READ, WRITE, ALTER_CONFIGS), "keep the register"),
    Right(OPERATOR, _G, "*", (DESCRIBE,), "find every group that reads the topics"),
    Right(OPERATOR, _G, "orders-*", (READ,), "read and set the offsets of the protected groups"),
    Right(OPERATOR, _G, "billing-*", (READ,), "read and set the offsets of the protected groups"),
    Right(OPERATOR, _X, "*", (DESCRIBE,), "see open transactions, also those that nobody declared"),
    Right(OPERATOR, _X, "*", (WRITE,), "compare-and-set in the register; abort transactions left after fencing"),
    Right(REPLICATOR, _C, _NAME, (DESCRIBE, IDEMPOTENT_WRITE), "exactly-once copying"),
    Right(REPLICATOR, _T, "orders.*", (READ, DESCRIBE, DESCRIBE_CONFIGS), "read what it copies"),
    Right(REPLICATOR, _T, "orders.*", (WRITE, CREATE, ALTER), "write the copy; add partitions to it"),
    Right(REPLICATOR, _T, "mm2-offset-syncs*", (ALL,), "record which source offset became which"),
    Right(REPLICATOR, _T, "{source}.*", (ALL,), "checkpoints of the flow from that cluster"),
    Right(REPLICATOR, _T, "connect-{here}-*", (ALL,), "the three storage topics of the Connect worker"),
    Right(REPLICATOR, _G, "*", (DESCRIBE,), "read the offsets that checkpoints are made from"),
    Right(REPLICATOR, _G, "connect-{here}*", (ALL,), "the Connect worker's own group"),
    Right(REPLICATOR, _X, "connect-{here}*", (ALL,), "exactly-once tasks"),
    Right(REPLICATOR, _X, "connect-cluster-connect-{here}", (ALL,), "the Connect worker's leader"),
    Right(AUDIT, _C, _NAME, (DESCRIBE,), "know which cluster it reads"),
    Right(AUDIT, _T, "orders.*", (READ, DESCRIBE, DESCRIBE_CONFIGS), "read both copies"),
    Right(AUDIT, _T, "_kafka_dr.*", (READ, DESCRIBE), "know the roles and the journaled offsets"),
    Right(AUDIT, _T, "_kafka_dr.selftest", (CREATE, WRITE), "write known faults, which each audit has to find"),
    Right(AUDIT, _T, "mm2-offset-syncs.*", (READ, DESCRIBE), "archive the offset syncs"),
    Right(AUDIT, _T, "connect-{here}-offsets", (READ, DESCRIBE), "see what a flow has copied, without Connect"),
    Right(AUDIT, _T, "connect-{here}-status", (READ, DESCRIBE), "see whether a flow runs, without Connect"),
    Right(AUDIT, _G, "*", (DESCRIBE,), "measure the lag of every group"),
    Right(AUDIT, _G, "dr-audit*", (READ,), "its own groups"),
    Right(PROBE, _C, _NAME, (DESCRIBE,), "know which cluster it asks"),
    Right(PROBE, _T, "orders.*", (READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS), "prove the fence; write and read canaries"),
    Right(PROBE, _T, "_kafka_dr.rescued", (WRITE, DESCRIBE), "record which stranded records it has published again"),
    Right(PROBE, _X, "kafka-dr-rescue-*", (WRITE, DESCRIBE), "publish them and record it in one transaction"),
    Right(PROBE, _G, "orders-*", (READ, DESCRIBE), "prove the group freeze by its own authorized operations"),
    Right(PROBE, _G, "billing-*", (READ, DESCRIBE), "prove the group freeze by its own authorized operations"),
    Right(PROBE, _G, "dr-probe*", (READ,), "its own groups"),
    Right(ORDERS_APP, _T, "orders.*", (READ, WRITE, DESCRIBE), "the application's work"),
    Right(ORDERS_APP, _G, "orders-*", (READ,), "the application's groups"),
    Right(BILLING_APP, _T, "orders.*", (READ, WRITE, DESCRIBE), "the application's work"),
    Right(BILLING_APP, _G, "billing-*", (READ,), "the application's groups"),
    Right(BILLING_APP, _X, "billing-*", (WRITE, DESCRIBE), "the application's transactions"),
    Right(DRILL, _C, _NAME, (DESCRIBE,), "know which cluster it uses; a drill gives it its other rights for its time"),
)


def allowed_on(cluster: Cluster, flows: Flows, rights: Iterable[Right] = RIGHTS) -> Iterator[Allowed]:
    """Every ALLOW binding of the table on one cluster.

    :param flows: the lab's
    :param rights: another table
    """
    for right in rights:
        for name, operation in product(_names(right.pattern, cluster, flows), right.operations):
            prefixed = name.endswith("*") and name != "*"
            yield Allowed(
                principal=right.principal,
                resource=right.resource,
                name=name.removesuffix("*") if prefixed else name,
                prefixed=prefixed,
                operation=operation,
            )


def _names(pattern: str, cluster: Cluster, flows: Flows) -> list[str]:
    if "{source}" in pattern:
        return [pattern.format(source=source) for source, target in flows if target == cluster.name]
    return [pattern.format(here=cluster.name)]


def as_markdown() -> str:
    """The table as `include/guide/rights.md` shows it."""
    lines = ["| principal | on | may | why |", "| --- | --- | --- | --- |"]
    for right in RIGHTS:
        pattern = right.pattern.replace("{here}", "<here>").replace("{source}", "<source>")
        where = "the cluster" if right.resource is Resource.CLUSTER else f"{right.resource} `{pattern}`"
        lines.append(f"| `{right.principal}` | {where} | {', '.join(right.operations)} | {right.reason} |")
    return "\n".join(lines) + "\n"
