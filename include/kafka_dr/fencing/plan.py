"""The DENYs of each fence: pure functions of what a protection group declares.

Topics that a pattern matches have to be looked up before: :class:`~kafka_dr.topology.NotLookedUp` is raised otherwise.

No DENY names ``User:*``: it would also deny the replicator and the operator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.topology.model import ProtectionGroup

#: How the name of the topic of :func:`witness` begins; names like it belong to this project.
WITNESS_TOPIC = "_kafka_dr.witness"
_CHANGES_OF_TOPICS = (AclOperation.CREATE, AclOperation.DELETE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)


class ResourceState(Enum):
    """What applications may do with the group's resources on a cluster; each state denies more than the one before."""

    OPEN = "open"
    WRITE_FENCED = "write-fenced"
    READABLE_COPY = "readable copy"
    CLOSED = "closed"


#: The operations that each state denies, by resource. DELETE on a topic also permits deleting its records, ALTER adding
#: partitions, ALTER_CONFIGS shorter retention; DELETE on a group deleting offsets. One DENY of every operation covers
#: those of ``CLOSED``: see :mod:`kafka_dr.fencing.closure`.
DENIED: Mapping[ResourceState, Mapping[ResourceType, tuple[AclOperation, ...]]] = {
    ResourceState.OPEN: {},
    ResourceState.WRITE_FENCED: {
        ResourceType.TOPIC: (AclOperation.WRITE,),
        ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE,),
    },
    ResourceState.READABLE_COPY: {
        ResourceType.TOPIC: (AclOperation.WRITE, *_CHANGES_OF_TOPICS),
        ResourceType.GROUP: (AclOperation.DELETE,),
        ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE,),
    },
    ResourceState.CLOSED: {
        ResourceType.TOPIC: (AclOperation.WRITE, *_CHANGES_OF_TOPICS, AclOperation.READ),
        ResourceType.GROUP: (AclOperation.DELETE, AclOperation.READ),
        ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE,),
    },
}


def between(before: ResourceState, after: ResourceState) -> Mapping[ResourceType, tuple[AclOperation, ...]]:
    """Return the operations that a state denies and an earlier one does not, by resource."""
    denied = DENIED[before]
    added = {
        kind: tuple(each for each in operations if each not in denied.get(kind, ()))
        for kind, operations in DENIED[after].items()
    }
    return {kind: operations for kind, operations in added.items() if operations}


#: Operations that change a topic or a group other than by writing and committing.
CHANGES = between(ResourceState.WRITE_FENCED, ResourceState.READABLE_COPY)
_WRITES = between(ResourceState.OPEN, ResourceState.WRITE_FENCED)
_READS = between(ResourceState.READABLE_COPY, ResourceState.CLOSED)


def write_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from writing to the group's topics."""
    return _denied(group.principals, _WRITES, {ResourceType.TOPIC: _topics(group)})


def transaction_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from committing transactions; added after the grace time."""
    return _denied(group.principals, _WRITES, {ResourceType.TRANSACTIONAL_ID: _transactional_ids(group)})


def group_freeze(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from reading and from committing offsets.

    Where members serve together only groups that move are stopped: who else reads on one that is closed may read on.
    """
    resources = _topics_and_groups(group) if group.member_of is None else {ResourceType.GROUP: _groups(group)}
    return _denied(group.principals, _READS, resources)


def probe_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs for the probe's writes, added last: brokers apply ACLs in order, so its refusal proves all."""
    return _denies([group.probe_principal], AclOperation.WRITE, _topics(group))


def probe_freeze(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs for the probe's READ on the consumer groups, added last."""
    return _denies([group.probe_principal], AclOperation.READ, _groups(group))


def topic_writes(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop applications and probe from writing to topics, whatever else they may do."""
    return write_fence(group) | probe_fence(group)


def change_fence(group: ProtectionGroup) -> frozenset[Acl]:
    """Return the DENYs that stop the applications from changing topics, their settings and records, and groups.

    They do not stop applications from working, and the probe's refusal does not prove them. So they are added last and
    lifted last, and if another owner added such a DENY, the cluster does not count as fenced.
    """
    return _denied(group.principals, CHANGES, _topics_and_groups(group))


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


def copy_fence(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return the DENYs that keep everybody but replication from the copies on a cluster that are never opened."""
    copies = _copies_on(group, cluster)
    probe = _denies([group.probe_principal], AclOperation.WRITE, copies)
    return _denied(group.principals, DENIED[ResourceState.READABLE_COPY], {ResourceType.TOPIC: copies}) | probe


def apart(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return the DENYs that a cluster has whatever its role is, where copies have other names than their originals.

    Applications never write to a copy, and replication never writes to a topic of the applications.
    """
    if not group.renames_copies or not group.closes(cluster):
        return frozenset()
    return copy_fence(group, cluster) | flow_fence(group.on(cluster))


def fence_of_flow(group: ProtectionGroup, source: str, target: str) -> frozenset[Acl]:
    """Return the DENYs that stop one flow from writing, whatever its copies are called."""
    return copy_flow_fence(group, source, target) if group.renames_copies else flow_fence(group.on(target))


def copy_flow_fence(group: ProtectionGroup, source: str, target: str) -> frozenset[Acl]:
    """Return the DENYs that stop the flow of one cluster from writing to its copies on another.

    There are none of a flow that belongs to another group.
    """
    if not group.owns_flows_from(source):
        return frozenset()
    return _denies([group.replicator_principal], AclOperation.WRITE, _copies(group, source, target))


def every(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return all DENYs that this project can add to a cluster of a group, whatever its role is."""
    flows = (copy_flow_fence(group, origin, cluster) for origin in group.clusters if origin != cluster)
    here = group.on(cluster)
    return (standby(here) | flow_fence(here)).union(apart(group, cluster), *flows)


def witness(group: ProtectionGroup, also: Collection[str] = ()) -> frozenset[Acl]:
    """Return a DENY that stops nobody, by which is seen whether DENYs last: on a topic that nobody makes or uses.

    :param also: principals that get one, next to the probe
    """
    topic = (ResourceType.TOPIC, f"{WITNESS_TOPIC}.{group.name}", PatternType.LITERAL)
    return _denies([group.probe_principal, *also], AclOperation.WRITE, [topic])


def existing_fence(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return the DENYs that stop the replication which was there before the group was adopted from writing.

    It may be a process of somebody else, who can start it again at any time. So these stay until the group is released.

    :param cluster: the one to which it has copied
    """
    return _denies(_existing(group), AclOperation.WRITE, [*_topics(group.on(cluster)), *_copies_on(group, cluster)])


def existing_change_fence(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return the DENYs that stop it from changing topics and their settings, and from setting offsets of groups."""
    topics = [*_topics(group.on(cluster)), *_copies_on(group, cluster)]
    changes = _denied(_existing(group), CHANGES, {ResourceType.TOPIC: topics})
    return changes | _denied(_existing(group), _READS, {ResourceType.GROUP: _groups(group)})


def existing_denies(group: ProtectionGroup, cluster: str) -> frozenset[Acl]:
    """Return both: everything that is denied to that replication."""
    return existing_fence(group, cluster) | existing_change_fence(group, cluster)


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


def _denied(
    principals: Collection[str],
    operations: Mapping[ResourceType, Collection[AclOperation]],
    resources: Mapping[ResourceType, Collection[_Resource]],
) -> frozenset[Acl]:
    """Return the DENYs of these operations on these resources."""
    return frozenset(
        deny
        for kind, found in resources.items()
        for operation in operations[kind]
        for deny in _denies(principals, operation, found)
    )


def _topics_and_groups(group: ProtectionGroup) -> dict[ResourceType, list[_Resource]]:
    return {ResourceType.TOPIC: _topics(group), ResourceType.GROUP: _groups(group)}


def _topics(group: ProtectionGroup) -> list[_Resource]:
    return _all_topics(group) if group.closes_topics else []


def _all_topics(group: ProtectionGroup) -> list[_Resource]:
    literal = [*group.literal_topics]
    # A pattern that matches it names it only once it exists.
    if group.canary_topic not in literal and not group.canary_topic.startswith(tuple(group.topic_prefixes)):
        literal.append(group.canary_topic)
    return _resources(ResourceType.TOPIC, literal, group.topic_prefixes)


def _copies(group: ProtectionGroup, source: str, target: str) -> list[_Resource]:
    """Return what copies are called that keep another name; none where they have those of their originals."""
    naming = group.naming(source, target)
    if naming is None:
        return []
    named = ((kind, naming.copy_of(name), pattern) for kind, name, pattern in _all_topics(group))
    return [(kind, name, pattern) for kind, name, pattern in named if name is not None]


def _copies_on(group: ProtectionGroup, cluster: str) -> list[_Resource]:
    """Return the same of all copies on a cluster."""
    return [each for origin in group.origins if origin != cluster for each in _copies(group, origin, cluster)]


def _groups(group: ProtectionGroup) -> list[_Resource]:
    return _resources(ResourceType.GROUP, group.consumer_groups, group.consumer_group_prefixes)


def _transactional_ids(group: ProtectionGroup) -> list[_Resource]:
    ids = (group.transactional_ids, group.transactional_id_prefixes) if group.closes_topics else ((), ())
    return _resources(ResourceType.TRANSACTIONAL_ID, *ids)


def _resources(kind: ResourceType, literal: Collection[str], prefixes: Collection[str]) -> list[_Resource]:
    return [(kind, name, PatternType.LITERAL) for name in literal] + [
        (kind, prefix, PatternType.PREFIXED) for prefix in prefixes
    ]
