"""Which DENYs make a fence: pure functions of what a protection group declares.

Never ``User:*``: that would deny the replicator and the operator as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.topology import ProtectionGroup

#: What changes a topic or a group otherwise than by writing and committing. DELETE on a topic also deletes its records,
#: ALTER adds partitions, ALTER_CONFIGS shortens its retention; DELETE on a group also deletes its offsets.
CHANGES: Mapping[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (AclOperation.DELETE,),
}


def write_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps the applications from writing to the group's topics."""
    return _denies(group.principals, AclOperation.WRITE, _topics(group))


def transaction_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps the applications from committing transactions: set after the grace time."""
    return _denies(group.principals, AclOperation.WRITE, _transactional_ids(group))


def group_freeze(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps the applications from reading and committing."""
    return _denies(group.principals, AclOperation.READ, [*_groups(group), *_topics(group)])


def probe_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what refuses the probe, set last: brokers apply ACLs in order, so its refusal speaks for the others."""
    return _denies([group.probe_principal], AclOperation.WRITE, _topics(group))


def probe_freeze(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what takes the probe's READ on the consumer groups, set last."""
    return _denies([group.probe_principal], AclOperation.READ, _groups(group))


def change_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps the applications from changing what is there: topics, their settings and records, and groups.

    It keeps nobody from working, and no refusal of the probe speaks for it. So it is set last and lifted last, and the
    same DENY by somebody else is no reason to call a cluster shut.
    """
    resources = {ResourceType.TOPIC: _topics(group), ResourceType.GROUP: _groups(group)}
    return frozenset().union(
        *(
            _denies(group.principals, operation, resources[kind])
            for kind, operations in CHANGES.items()
            for operation in operations
        )
    )


def standby(group: ProtectionGroup) -> frozenset[Acl]:
    """Return everything that a cluster refuses to applications and probe while it is not active for the group."""
    return frozenset().union(*standby_in_order(group))


def standby_in_order(group: ProtectionGroup) -> tuple[frozenset[Acl], frozenset[Acl], frozenset[Acl]]:
    """Return the same as it is set: applications' work, then the probe, whose refusal speaks for it, then changes."""
    return application_denies(group), probe_fence(group) | probe_freeze(group), change_fence(group)


def shut_out(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps applications and probe from working: a cluster is shut while any of these is there."""
    return application_denies(group) | probe_fence(group) | probe_freeze(group)


def application_denies(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps the applications from working: from writing, committing and reading."""
    return write_fence(group) | transaction_fence(group) | group_freeze(group)


def flow_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what keeps a flow from writing: the replicator's principal, on the group's topics."""
    return _denies([group.replicator_principal], AclOperation.WRITE, _topics(group))


_Resource = tuple[ResourceType, str, PatternType]


def _denies(principals: Collection[str], operation: AclOperation, resources: Iterable[_Resource]) -> frozenset[Acl]:
    return frozenset(
        Acl(kind, name, pattern, principal, operation, AclPermission.DENY)
        for kind, name, pattern in resources
        for principal in principals
    )


def _topics(group: ProtectionGroup) -> list[_Resource]:
    literal = [*group.topics]
    if not group.owns_topic(group.canary_topic):
        literal.append(group.canary_topic)
    return _resources(ResourceType.TOPIC, literal, group.topic_prefixes)


def _groups(group: ProtectionGroup) -> list[_Resource]:
    return _resources(ResourceType.GROUP, group.consumer_groups, group.consumer_group_prefixes)


def _transactional_ids(group: ProtectionGroup) -> list[_Resource]:
    return _resources(ResourceType.TRANSACTIONAL_ID, group.transactional_ids, group.transactional_id_prefixes)


def _resources(kind: ResourceType, literal: Collection[str], prefixes: Collection[str]) -> list[_Resource]:
    return [(kind, name, PatternType.LITERAL) for name in literal] + [
        (kind, prefix, PatternType.PREFIXED) for prefix in prefixes
    ]
