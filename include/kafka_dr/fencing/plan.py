"""The DENYs of each fence: pure functions of what a protection group declares.

Topics that a pattern matches have to be looked up before: :class:`~kafka_dr.topology.NotLookedUp` is raised otherwise.

No DENY names ``User:*``: it would also deny the replicator and the operator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.topology.model import ProtectionGroup

#: How the name of the topic of :func:`witness` begins; names like it belong to this project.
WITNESS_TOPIC = "_kafka_dr.witness"
#: Operations that change a topic or a group other than by writing and committing. DELETE on a topic also permits
#: deleting its records, ALTER adding partitions, ALTER_CONFIGS shorter retention; DELETE on a group deleting offsets.
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
    """Return the DENYs that stop the applications from writing to the group's topics."""
    return _denies(group.principals, AclOperation.WRITE, _topics(group))


def transaction_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from committing transactions; added after the grace time."""
    return _denies(group.principals, AclOperation.WRITE, _transactional_ids(group))


def group_freeze(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from reading and from committing offsets."""
    return _denies(group.principals, AclOperation.READ, [*_groups(group), *_topics(group)])


def probe_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs for the probe's writes, added last: brokers apply ACLs in order, so its refusal proves all."""
    return _denies([group.probe_principal], AclOperation.WRITE, _topics(group))


def probe_freeze(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs for the probe's READ on the consumer groups, added last."""
    return _denies([group.probe_principal], AclOperation.READ, _groups(group))


def change_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from changing topics, their settings and records, and groups.

    They do not stop applications from working, and the probe's refusal does not prove them. So they are added last and
    lifted last, and if another owner added such a DENY, the cluster does not count as fenced.
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
    """Return all DENYs for applications and probe on a cluster that is not active for the group."""
    return frozenset().union(*standby_in_order(group))


def standby_in_order(group: ProtectionGroup) -> tuple[frozenset[Acl], frozenset[Acl], frozenset[Acl]]:
    """Return the same in the order of adding: the applications' work, the probe, whose refusal proves it, changes."""
    return application_denies(group), probe_fence(group) | probe_freeze(group), change_fence(group)


def work_denies(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop applications and probe from working: with any of them a cluster is not open."""
    return application_denies(group) | probe_fence(group) | probe_freeze(group)


def application_denies(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from writing, committing and reading."""
    return write_fence(group) | transaction_fence(group) | group_freeze(group)


def flow_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop a flow from writing: for the replicator's principal, on the group's topics."""
    return _denies([group.replicator_principal], AclOperation.WRITE, _topics(group))


def witness(group: ProtectionGroup, also: Collection[str] = ()) -> frozenset[Acl]:
    """Return a DENY that stops nobody, by which is seen whether DENYs last: on a topic that nobody makes or uses.

    :param also: principals that get one, next to the probe
    """
    topic = (ResourceType.TOPIC, f"{WITNESS_TOPIC}.{group.name}", PatternType.LITERAL)
    return _denies([group.probe_principal, *also], AclOperation.WRITE, [topic])


def existing_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the replication which was there before the group was adopted from writing.

    It may be a process of somebody else, who can start it again at any time. So these stay until the group is released.
    """
    return _denies(_existing(group), AclOperation.WRITE, _topics(group))


def existing_change_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop it from changing topics and their settings, and from setting offsets of groups."""
    changes = [_denies(_existing(group), each, _topics(group)) for each in CHANGES[ResourceType.TOPIC]]
    return frozenset().union(*changes, _denies(_existing(group), AclOperation.READ, _groups(group)))


def existing_denies(group: ProtectionGroup) -> frozenset[Acl]:
    """Return both: everything that is denied to that replication."""
    return existing_fence(group) | existing_change_fence(group)


def _existing(group: ProtectionGroup) -> tuple[str, ...]:
    existing = group.existing_replication
    return () if existing is None or group.existing_is_own else (existing.principal,)


_Resource = tuple[ResourceType, str, PatternType]


def _denies(principals: Collection[str], operation: AclOperation, resources: Iterable[_Resource]) -> frozenset[Acl]:
    return frozenset(
        Acl(kind, name, pattern, principal, operation, AclPermission.DENY)
        for kind, name, pattern in resources
        for principal in principals
    )


def _topics(group: ProtectionGroup) -> list[_Resource]:
    literal = [*group.literal_topics]
    # A pattern that matches it names it only once it exists.
    if group.canary_topic not in literal and not group.canary_topic.startswith(tuple(group.topic_prefixes)):
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
