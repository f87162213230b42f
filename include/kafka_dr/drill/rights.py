"""The rights that a drill gives on its own names, and takes back: pure functions of its group."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.topology.model import ProtectionGroup

_SEE = (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
_CHANGE = (AclOperation.CREATE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)


def given(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what the principals need on the drill's names: what `include/guide/rights.md` gives them on a real group.

    :param group: the drill's own
    """
    topic, reader, transactional = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
    read, write, see = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
    found = [
        *_allowed(group, group.operator_principal, topic, (read, *_SEE, *_CHANGE)),
        *_allowed(group, group.operator_principal, reader, (read, see)),
        *_allowed(group, group.replicator_principal, topic, (read, write, AclOperation.CREATE, AclOperation.ALTER)),
        *_allowed(group, group.replicator_principal, topic, _SEE),
        *_allowed(group, group.probe_principal, topic, (read, write, *_SEE)),
        *_allowed(group, group.probe_principal, reader, (read, see)),
    ]
    if group.audit_principal is not None:
        found += _allowed(group, group.audit_principal, topic, (read, *_SEE))
    for application in group.principals:
        found += _allowed(group, application, topic, (read, write, see))
        found += _allowed(group, application, reader, (read,))
        found += _allowed(group, application, transactional, (write, see))
    return frozenset(found)


def to_tear_down(group: ProtectionGroup) -> frozenset[Acl]:
    """Return what the operator needs to delete the drill's topics and consumer groups; held only while it does."""
    delete = (AclOperation.DELETE, AclOperation.DESCRIBE)
    return frozenset(
        (
            *_allowed(group, group.operator_principal, ResourceType.TOPIC, delete),
            *_allowed(group, group.operator_principal, ResourceType.GROUP, delete),
        )
    )


def of_drill(acls: Iterable[Acl], group: ProtectionGroup) -> frozenset[Acl]:
    """Return the ACLs that name nothing but what is the drill's: its rights, and the DENYs of its fences."""
    (prefix,) = group.topic_prefixes
    return frozenset(acl for acl in acls if acl.name.startswith(prefix))


def _allowed(
    group: ProtectionGroup, principal: str, resource: ResourceType, operations: Iterable[AclOperation]
) -> list[Acl]:
    (prefix,) = group.topic_prefixes
    return [
        Acl(resource, prefix, PatternType.PREFIXED, principal, operation, AclPermission.ALLOW)
        for operation in operations
    ]
