"""Who may write what only this project may write: the register's topics and transactional ids, by the ACLs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kafka_dr.clusters import Acl, AclOperation, AclPermission, ResourceType
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.register.digests import DIGESTS_TOPIC
from kafka_dr.topology.model import ProtectionGroup

OWN_TOPICS = "_kafka_dr."
#: Each audit writes known faults to it, and nothing is decided from it.
SELF_TEST_TOPIC = "_kafka_dr.selftest"
#: What changes a topic's records: DELETE and ALTER_CONFIGS make them expire, ALTER adds partitions.
_CHANGING = (AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)


@dataclass(frozen=True, slots=True)
class Guarded:
    """One topic or transactional id that only some principals may write.

    :param owners: these principals
    """

    resource: ResourceType
    name: str
    owners: frozenset[str]

    @property
    def operations(self) -> tuple[AclOperation, ...]:
        """What only the owners may do."""
        return _CHANGING if self.resource is ResourceType.TOPIC else (AclOperation.WRITE,)

    def is_reached_by(self, acl: Acl) -> bool:
        """Return whether an ACL alone lets somebody else do it; a DENY may still forbid it."""
        if acl.permission is not AclPermission.ALLOW or acl.resource is not self.resource:
            return False
        if acl.principal in self.owners or acl.operation not in (*self.operations, AclOperation.ALL):
            return False
        return acl.covers(self.name)


@dataclass(frozen=True, slots=True)
class Intruder:
    """A principal that may write what only this project may write.

    :param right: one of the ACLs that allow it; ``None`` if no ACL names the resource and everybody may
    """

    principal: str
    operation: AclOperation
    guarded: Guarded
    right: Acl | None

    def __str__(self) -> str:
        who = "everybody (User:*)" if self.principal == EVERYONE else self.principal
        why = "no ACL names it" if self.right is None else f"by {self.right}"
        return f"{who} has {self.operation.name} on the {_KINDS[self.guarded.resource]} {self.guarded.name} ({why})"


_KINDS = {ResourceType.TOPIC: "topic", ResourceType.TRANSACTIONAL_ID: "transactional id"}


def guarded(groups: Collection[ProtectionGroup], topics: Collection[str]) -> tuple[Guarded, ...]:
    """Return what only this project's principals may write.

    :param groups: every protection group of the topology
    :param topics: the topics of a cluster; only those of this project count
    """
    operators = frozenset(group.operator_principal for group in groups)
    probes = operators | {group.probe_principal for group in groups}
    others = {name for name in topics if name.startswith(OWN_TOPICS)} - {REGISTER_TOPIC, DIGESTS_TOPIC, SELF_TEST_TOPIC}
    return (
        Guarded(ResourceType.TOPIC, REGISTER_TOPIC, operators),
        *(Guarded(ResourceType.TOPIC, name, operators) for name in topics if name == DIGESTS_TOPIC),
        *(Guarded(ResourceType.TOPIC, name, probes) for name in sorted(others)),
        *(
            Guarded(ResourceType.TRANSACTIONAL_ID, f"kafka-dr-{use}-{group.name}", owners)
            for group in groups
            for use, owners in (("register", operators), ("config", operators), ("rescue", probes))
        ),
    )


def intruders(
    authorizer: Authorizer, wanted: Collection[Guarded], *, super_users: Collection[str] = ()
) -> Iterator[Intruder]:
    """Yield each principal that may write what it does not own, once for each operation and resource.

    :param super_users: no ACL restricts them, so they cannot be checked
    """
    for each in wanted:
        for operation in each.operations:
            able = authorizer.able(operation, each.resource, [each.name]) - each.owners - frozenset(super_users)
            for principal in [EVERYONE] if EVERYONE in able else sorted(able):
                yield Intruder(principal, operation, each, _right(authorizer, each, principal, operation))


def _right(authorizer: Authorizer, each: Guarded, principal: str, operation: AclOperation) -> Acl | None:
    rights = (
        acl
        for acl in sorted(authorizer.about(each.resource, each.name))
        if acl.permission is AclPermission.ALLOW
        and acl.principal in (principal, EVERYONE)
        and acl.operation in (operation, AclOperation.ALL)
    )
    return next(rights, None)
