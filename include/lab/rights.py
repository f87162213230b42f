"""Who may do what on the lab's clusters: what ``python -m kafka_dr rights`` prints, and what the applications may do.

Patterns may contain ``{here}`` (the cluster that the right is given on), ``{source}`` (each one that a flow to it
begins on). Application principals have the same rights on every cluster: what keeps them from writing to a standby is
the fence, a DENY.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product

from kafka_dr.clusters.model import PatternType
from kafka_dr.rights import needed_on
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from lab.clusters import WEST, Cluster
from lab.layout import PROJECT, Flows


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

#: What applications may do: their owners' matter, so no topology says it.
RIGHTS_OF_APPLICATIONS: tuple[Right, ...] = (
    Right(ORDERS_APP, _T, "orders.*", (READ, WRITE, DESCRIBE), "the application's work"),
    Right(ORDERS_APP, _G, "orders-*", (READ,), "the application's groups"),
    Right(BILLING_APP, _T, "orders.*", (READ, WRITE, DESCRIBE), "the application's work"),
    Right(BILLING_APP, _G, "billing-*", (READ,), "the application's groups"),
    Right(BILLING_APP, _X, "billing-*", (WRITE, DESCRIBE), "the application's transactions"),
)


def allowed_on(cluster: Cluster, flows: Flows, rights: Iterable[Right] | None = None) -> Iterator[Allowed]:
    """Every ALLOW binding on one cluster: what the project asks for its own principals, and what applications may do.

    :param flows: the lab's
    :param rights: a table instead of both
    """
    if rights is None:
        yield from _of_project(cluster, flows)
    for right in RIGHTS_OF_APPLICATIONS if rights is None else rights:
        for name, operation in product(_names(right.pattern, cluster, flows), right.operations):
            prefixed = name.endswith("*") and name != "*"
            yield Allowed(
                principal=right.principal,
                resource=right.resource,
                name=name.removesuffix("*") if prefixed else name,
                prefixed=prefixed,
                operation=operation,
            )


def _of_project(cluster: Cluster, flows: Flows) -> Iterator[Allowed]:
    declared = _topology()
    (group,) = declared.protection_groups.values()
    spec = declared.clusters[WEST.name].model_copy(update={"connect_group_id": cluster.connect_group_id})
    sources = (source for source, target in flows if target == cluster.name)
    on_it = group.model_copy(update={"clusters": (cluster.name, *sources)})
    for right in needed_on(cluster.name, spec, [on_it]):
        for operation in right.operations:
            yield Allowed(
                principal=right.principal.removeprefix("User:"),
                resource=Resource[right.resource.name],
                name=right.name,
                prefixed=right.pattern is PatternType.PREFIXED,
                operation=Operation(operation.value),
            )


@cache
def _topology() -> Topology:
    """The project's topology, of which only names matter here."""
    anywhere = {"KAFKA_DR_LAB_HOME": "/lab", "KAFKA_DR_LAB_EAST": "east:9092", "KAFKA_DR_LAB_WEST": "west:9092"}
    return load(PROJECT / "include" / "topology.yaml", anywhere)


def _names(pattern: str, cluster: Cluster, flows: Flows) -> list[str]:
    if "{source}" in pattern:
        return [pattern.format(source=source) for source, target in flows if target == cluster.name]
    return [pattern.format(here=cluster.name)]
