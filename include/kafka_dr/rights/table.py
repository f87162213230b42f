"""The table of rights: a row for each principal and kind of name, with placeholders for what the topology declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing.register_writers import OWN_TOPICS, SELF_TEST_TOPIC
from kafka_dr.rescue.ledger import LEDGER_TOPIC
from kafka_dr.rescue.routing import stranded_topic
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.declared import NotLookedUp
from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.topology.names import covers

CLUSTER_NAME = "kafka-cluster"
_OP = AclOperation
_C, _T, _G = ResourceType.CLUSTER, ResourceType.TOPIC, ResourceType.GROUP
_X = ResourceType.TRANSACTIONAL_ID

_Role = Literal["operator", "replicator", "audit", "probe", "drill"]
#: Patterns are names; one that ends in ``*`` is a prefix, ``*`` alone every name. In braces is what the topology says.
_ROWS: tuple[tuple[_Role, ResourceType, str, tuple[AclOperation, ...], str], ...] = (
    (
        "operator",
        _C,
        CLUSTER_NAME,
        (_OP.DESCRIBE, _OP.DESCRIBE_CONFIGS),
        "read brokers and ACLs, and whether the authorizer's settings are set",
    ),
    ("operator", _C, CLUSTER_NAME, (_OP.ALTER,), "add and lift the DENYs that are the fences"),
    ("operator", _C, CLUSTER_NAME, (_OP.ALTER_CONFIGS,), "give the standby the active cluster's client quotas"),
    (
        "operator",
        _T,
        "{topics}",
        (_OP.CREATE, _OP.ALTER, _OP.ALTER_CONFIGS),
        "keep the standby's topics like the active ones",
    ),
    ("operator", _T, "{stranded}", (_OP.CREATE, _OP.ALTER), "create the topics of stranded records"),
    ("operator", _T, "*", (_OP.DESCRIBE, _OP.DESCRIBE_CONFIGS), "see every topic that a prefix can match"),
    ("operator", _T, "{topics}", (_OP.READ,), "compare records; commit offsets for groups"),
    ("operator", _T, "{syncs}", (_OP.READ,), "narrow down offsets before records are compared"),
    ("operator", _T, "{positions}", (_OP.READ,), "see what a flow has copied when its source is down"),
    ("operator", _T, "{own}", (_OP.CREATE, _OP.READ, _OP.WRITE, _OP.ALTER_CONFIGS), "keep the register"),
    ("operator", _G, "*", (_OP.DESCRIBE,), "find every group that reads the topics"),
    ("operator", _G, "{groups}", (_OP.READ,), "read and set the offsets of the protected groups"),
    ("operator", _X, "*", (_OP.DESCRIBE,), "see open transactions, also those that nobody declared"),
    ("operator", _X, "*", (_OP.WRITE,), "compare-and-set in the register; abort transactions left after fencing"),
    ("replicator", _C, CLUSTER_NAME, (_OP.DESCRIBE, _OP.IDEMPOTENT_WRITE), "exactly-once copying"),
    ("replicator", _T, "{topics}", (_OP.READ, _OP.DESCRIBE, _OP.DESCRIBE_CONFIGS), "read what it copies"),
    ("replicator", _T, "{topics}", (_OP.WRITE, _OP.CREATE, _OP.ALTER), "write the copy; add partitions to it"),
    ("replicator", _T, "{syncs}", (_OP.ALL,), "record which source offset became which"),
    ("replicator", _T, "{source}.*", (_OP.ALL,), "checkpoints of the flow from that cluster"),
    ("replicator", _T, "{worker}-*", (_OP.ALL,), "the three storage topics of the Connect worker"),
    ("replicator", _G, "*", (_OP.DESCRIBE,), "read the offsets that checkpoints are made from"),
    ("replicator", _G, "{worker}*", (_OP.ALL,), "the Connect worker's own group"),
    ("replicator", _X, "{worker}*", (_OP.ALL,), "exactly-once tasks"),
    ("replicator", _X, "connect-cluster-{worker}", (_OP.ALL,), "the Connect worker's leader"),
    ("audit", _C, CLUSTER_NAME, (_OP.DESCRIBE,), "know which cluster it reads"),
    ("audit", _T, "{topics}", (_OP.READ, _OP.DESCRIBE, _OP.DESCRIBE_CONFIGS), "read both copies"),
    ("audit", _T, "{own}", (_OP.READ, _OP.DESCRIBE), "know the roles and the journaled offsets"),
    ("audit", _T, SELF_TEST_TOPIC, (_OP.CREATE, _OP.WRITE), "write known faults, which each audit has to find"),
    ("audit", _T, "{syncs}", (_OP.READ, _OP.DESCRIBE), "archive the offset syncs"),
    ("audit", _T, "{positions}", (_OP.READ, _OP.DESCRIBE), "see what a flow has copied, without Connect"),
    ("audit", _T, "{states}", (_OP.READ, _OP.DESCRIBE), "see whether a flow runs, without Connect"),
    ("audit", _G, "*", (_OP.DESCRIBE,), "measure the lag of every group"),
    ("audit", _G, "dr-audit*", (_OP.READ,), "its own groups"),
    ("probe", _C, CLUSTER_NAME, (_OP.DESCRIBE,), "know which cluster it asks"),
    (
        "probe",
        _T,
        "{topics}",
        (_OP.READ, _OP.WRITE, _OP.DESCRIBE, _OP.DESCRIBE_CONFIGS),
        "prove the fence; write and read canaries",
    ),
    ("probe", _T, "{stranded}", (_OP.WRITE, _OP.DESCRIBE), "publish late records there instead of delivering them"),
    ("probe", _T, LEDGER_TOPIC, (_OP.WRITE, _OP.DESCRIBE), "record which stranded records it has published again"),
    ("probe", _X, "kafka-dr-rescue-*", (_OP.WRITE, _OP.DESCRIBE), "publish them and record it in one transaction"),
    ("probe", _G, "{groups}", (_OP.READ, _OP.DESCRIBE), "prove the group freeze by its own authorized operations"),
    ("probe", _G, "dr-probe*", (_OP.READ,), "its own groups"),
    ("drill", _C, CLUSTER_NAME, (_OP.DESCRIBE,), "know which cluster it uses; a drill gives it its other rights"),
)


@dataclass(frozen=True, slots=True)
class NeededRight:
    """What one principal has to be allowed on one name or prefix."""

    principal: str
    resource: ResourceType
    name: str
    pattern: PatternType
    operations: tuple[AclOperation, ...]
    reason: str

    @property
    def kind(self) -> str:
        """What kind of resource it is, for people."""
        return self.resource.value.replace("_", " ")

    @property
    def shown(self) -> str:
        """The name, with a star if it is a prefix."""
        return f"{self.name}*" if self.pattern is PatternType.PREFIXED else self.name

    @property
    def acls(self) -> frozenset[Acl]:
        """The same as ALLOWs, one for each operation."""
        return frozenset(
            Acl(self.resource, self.name, self.pattern, self.principal, operation, AclPermission.ALLOW)
            for operation in self.operations
        )


def needed_on(name: str, spec: ClusterSpec, groups: Iterable[ProtectionGroup]) -> tuple[NeededRight, ...]:
    """Return every right that is needed on a cluster, in the order of the table, each once.

    Topics that only patterns match are left out until they are looked up; see :func:`without_patterns`.

    :param name: the cluster's
    :param spec: how it is declared
    :param groups: those that are on it
    """
    found: dict[NeededRight, None] = {}
    for group in groups:
        principals = _principals(group)
        for role, resource, pattern, operations, reason in _ROWS:
            if principal := principals.get(role):
                for each in _names(pattern, name, spec, group):
                    found[NeededRight(principal, resource, *read_pattern(each), operations, reason)] = None
    return tuple(found)


def read_pattern(pattern: str) -> tuple[str, PatternType]:
    """Return the name of an ACL, and how it names: a pattern that ends in ``*`` is a prefix, ``*`` alone every name."""
    if pattern.endswith("*") and pattern != "*":
        return pattern.removesuffix("*"), PatternType.PREFIXED
    return pattern, PatternType.LITERAL


def without_patterns(groups: Collection[ProtectionGroup]) -> tuple[str, ...]:
    """Return the groups whose topics are matched by patterns, which ACLs do not know: their topics are to be added."""
    return tuple(group.name for group in groups if group.topic_patterns)


def _principals(group: ProtectionGroup) -> dict[_Role, str]:
    found: dict[_Role, str | None] = {
        "operator": group.operator_principal,
        "replicator": group.replicator_principal,
        "audit": group.audit_principal,
        "probe": group.probe_principal,
        "drill": group.drill.principal if group.drill else None,
    }
    return {role: principal for role, principal in found.items() if principal}


def _names(pattern: str, here: str, spec: ClusterSpec, group: ProtectionGroup) -> Iterator[str]:
    match pattern:
        case "{topics}":
            yield from _topics(group, here)
        case "{stranded}":
            # Who triggers a failback may choose it for every topic.
            may = group.renames_copies and len(group.clusters) == 2
            wanted = map(stranded_topic, sorted({*_whole(group), *group.flow.late_to_stranded_topic} if may else ()))
            yield from (each for each in wanted if not covers(each, literals=(), prefixes=group.topic_prefixes))
        case "{groups}":
            yield from (*group.groups_set, *(f"{prefix}*" for prefix in group.consumer_group_prefixes))
        case "{source}.*":
            yield from (f"{source}.*" for source in group.origins if source != here)
        case "{syncs}":
            yield "mm2-offset-syncs.*"
        case "{own}":
            yield f"{OWN_TOPICS}*"
        case "{positions}":
            yield spec.connect_positions_topic
        case "{states}":
            yield spec.connect_states_topic
        case _:
            yield pattern.replace("{worker}", spec.connect_group_id)


def _whole(group: ProtectionGroup) -> tuple[str, ...]:
    """Return the topics that are declared by their whole names, or that patterns were seen to match."""
    try:
        return group.literal_topics
    except NotLookedUp:
        return group.topics


def _topics(group: ProtectionGroup, here: str) -> Iterator[str]:
    """Yield the group's topics, and the copies that a cluster has of them under other names."""
    whole = _whole(group)
    local = [*whole, *(f"{prefix}*" for prefix in group.topic_prefixes)]
    if not covers(group.canary_topic, literals=whole, prefixes=group.topic_prefixes):
        local.append(group.canary_topic)
    yield from local
    yield from group.copies_of(local, here)
