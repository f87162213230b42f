"""Which ACLs and quotas are a protection group's: only those may ever be changed for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.clusters.model import Acl, PatternType, ResourceType
from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.topology.names import is_internal_topic
from kafka_dr.topology.patterns import fixed_beginning, matched

EVERYTHING = "*"
_USER = "User:"


class Belongs(Enum):
    """Which group an ACL or a quota belongs to."""

    #: This group: by what it is about, or by the application that it is for.
    OURS = "ours"
    #: It reaches this group's names, and others' as well; or everybody, this group's applications among them; or an
    #: application of this group in all that it does, and another group declares that application, too.
    REACHES_FURTHER = "reaches further"
    #: It is nothing to this group.
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class _Names:
    literals: Collection[str]
    prefixes: Collection[str]
    patterns: Collection[str] = ()

    def holds(self, name: str, *, prefix: bool) -> bool:
        """Return whether a name, or everything that begins with it, is inside."""
        if name.startswith(tuple(self.prefixes)):
            return True
        return not prefix and (name in self.literals or matched(name, self.patterns))

    def meets(self, name: str, *, prefix: bool) -> bool:
        """Return whether at least one name is covered by both; a pattern may match a name that begins so."""
        if self.holds(name, prefix=prefix):
            return True
        begins = tuple(map(fixed_beginning, self.patterns))
        own = (*self.literals, *self.prefixes, *begins)
        return prefix and (any(each.startswith(name) for each in own) or any(name.startswith(each) for each in begins))


class Scope:
    """Knows what is a group's.

    :param others: the other protection groups of the topology
    """

    def __init__(self, group: ProtectionGroup, others: Collection[ProtectionGroup] = ()) -> None:
        self._group = group
        self._names = _names(group)
        self._others = [(_names(other), frozenset(other.principals)) for other in others]
        own = (group.operator_principal, group.probe_principal, group.replicator_principal, *group.super_users)
        #: Principals whose rights are a matter of each cluster: this project's own, and the administrators.
        self._aside = frozenset(own)
        self._applications = frozenset(group.principals)

    def is_application(self, principal: str) -> bool:
        """Return whether a principal is one of the group's declared applications."""
        return principal in self._applications

    def acl(self, acl: Acl) -> Belongs:
        """Return which group an ACL belongs to."""
        if acl.principal in self._aside or (acl.resource is ResourceType.TOPIC and is_internal_topic(acl.name)):
            return Belongs.OTHERS
        application = self.is_application(acl.principal)
        if acl.resource is ResourceType.CLUSTER or acl.name == EVERYTHING:
            return self._wide(acl.principal)
        prefix = acl.pattern is PatternType.PREFIXED
        names = self._names[acl.resource]
        if names.holds(acl.name, prefix=prefix):
            return Belongs.OURS
        if any(theirs[acl.resource].holds(acl.name, prefix=prefix) for theirs, _ in self._others):
            return Belongs.OTHERS
        if names.meets(acl.name, prefix=prefix):
            return self._wide(acl.principal)
        return Belongs.REACHES_FURTHER if application else Belongs.OTHERS

    def _wide(self, principal: str) -> Belongs:
        """Return which group an ACL belongs to that is not about the names of one group alone."""
        application, theirs = self.is_application(principal), self._is_application_of_others(principal)
        if application != theirs:
            return Belongs.OURS if application else Belongs.OTHERS
        return Belongs.REACHES_FURTHER

    def _is_application_of_others(self, principal: str) -> bool:
        return any(principal in principals for _, principals in self._others)

    def quota(self, entity: QuotaEntity) -> Belongs:
        """Return which group a client quota belongs to; one without a user's name counts for everybody's clients."""
        if not entity.user:
            return Belongs.REACHES_FURTHER
        principal = _USER + entity.user
        if not self.is_application(principal):
            return Belongs.OTHERS
        return Belongs.REACHES_FURTHER if self._is_application_of_others(principal) else Belongs.OURS

    def user(self, name: str) -> bool:
        """Return whether a SCRAM user is one of the group's applications."""
        return self.is_application(_USER + name)


def _names(group: ProtectionGroup) -> dict[ResourceType, _Names]:
    return {
        ResourceType.TOPIC: _Names((*group.topics, group.canary_topic), group.topic_prefixes, group.topic_patterns),
        ResourceType.GROUP: _Names(group.consumer_groups, group.consumer_group_prefixes),
        ResourceType.TRANSACTIONAL_ID: _Names(group.transactional_ids, group.transactional_id_prefixes),
    }
