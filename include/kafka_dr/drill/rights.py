"""The rights that a drill gives on its own names, and takes back: pure functions of its group."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.topology.model import ProtectionGroup

_SEE = (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
_CHANGE = (AclOperation.CREATE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)


def names_of(group: ProtectionGroup, cluster: str) -> tuple[str, ...]:
    """Return how all names of a drill begin on a cluster; those of copies that keep another name are among them.

    :param group: the drill's own
    """
    return (*group.topic_prefixes, *group.copies_of(group.topic_prefixes, cluster))


def given(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return what the principals need on the drill's names: what `include/guide/rights.md` gives them on a real group.

    :param group: the drill's own
    """

    def allowed(principal: str, resource: ResourceType, operations: Iterable[AclOperation]) -> list[Acl]:
        return _allowed(group, cluster, principal, resource, operations)

    topic, reader, transactional = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
    read, write, see = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
    found = [
        *allowed(group.operator_principal, topic, (read, *_SEE, *_CHANGE)),
        *allowed(group.operator_principal, reader, (read, see)),
        *allowed(group.replicator_principal, topic, (read, write, AclOperation.CREATE, AclOperation.ALTER)),
        *allowed(group.replicator_principal, topic, _SEE),
        *allowed(group.probe_principal, topic, (read, write, *_SEE)),
        *allowed(group.probe_principal, reader, (read, see)),
    ]
    if group.audit_principal is not None:
        found += allowed(group.audit_principal, topic, (read, *_SEE))
    for application in group.principals:
        found += allowed(application, topic, (read, write, see))
        found += allowed(application, reader, (read,))
        found += allowed(application, transactional, (write, see))
    return frozenset(found)


def to_tear_down(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return what the operator needs to delete the drill's topics and consumer groups; held only while it does."""
    delete = (AclOperation.DELETE, AclOperation.DESCRIBE)
    return frozenset(
        (
            *_allowed(group, cluster, group.operator_principal, ResourceType.TOPIC, delete),
            *_allowed(group, cluster, group.operator_principal, ResourceType.GROUP, delete),
        )
    )


def of_drill(acls: Iterable[Acl], group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return the ACLs that name nothing but what is the drill's: its rights, and the DENYs of its fences."""
    return frozenset(acl for acl in acls if acl.name.startswith(names_of(group, cluster)))


def _allowed(
    group: ProtectionGroup, cluster: str, principal: str, resource: ResourceType, operations: Iterable[AclOperation]
) -> list[Acl]:
    begins = names_of(group, cluster) if resource is ResourceType.TOPIC else group.topic_prefixes
    return [
        Acl(resource, prefix, PatternType.PREFIXED, principal, operation, AclPermission.ALLOW)
        for operation in operations
        for prefix in begins
    ]
