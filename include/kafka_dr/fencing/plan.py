"""Which DENYs make a fence: pure functions of what a protection group declares.

Never ``User:*``: that would deny the replicator and the operator as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.topology import ProtectionGroup


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


def standby(group: ProtectionGroup) -> frozenset[Acl]:
    """Return everything that a cluster refuses to applications and probe while it is not active for the group."""
    first, last = standby_in_order(group)
    return first | last


def standby_in_order(group: ProtectionGroup) -> tuple[frozenset[Acl], frozenset[Acl]]:
    """Return the same as it is set: the applications first, the probe last, whose refusal speaks for them."""
    return application_denies(group), probe_fence(group) | probe_freeze(group)


def application_denies(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the part of the standby's fence that is about applications."""
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
