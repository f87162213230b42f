"""Who could produce, consume and commit on the standby after a switch, compared with who can on the active cluster.

The brokers' rule is :class:`~kafka_dr.fencing.authorizer.Authorizer`. It is asked for each principal and name with the
few ACLs that cover that name, and once for each distinct set of them: thousands of topics share a handful of sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_dr.clusters.model import Acl, AclOperation, PatternType, ResourceType
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.topology.model import ProtectionGroup

Deed = Literal["produce to", "consume", "commit for", "write transactions as"]

_ANY_HOST, _ELSEWHERE = "*", "other addresses"
_DEEDS: tuple[tuple[Deed, ResourceType, AclOperation], ...] = (
    ("produce to", ResourceType.TOPIC, AclOperation.WRITE),
    ("consume", ResourceType.TOPIC, AclOperation.READ),
    ("commit for", ResourceType.GROUP, AclOperation.READ),
    ("write transactions as", ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE),
)


@dataclass(frozen=True, slots=True)
class Access:
    """A principal that may do something on one cluster and may not on the other, after a switch.

    :param names: the topics, groups or transactional ids; with the addresses, where others are not concerned
    :param lost: whether the active cluster allows it and the standby would not; else the other way round
    :param declared: whether the principal is one of the group's applications
    """

    principal: str
    deed: Deed
    names: tuple[str, ...]
    lost: bool
    declared: bool

    @property
    def about(self) -> tuple[str, Deed, bool]:
        """Who could do what, wherever."""
        return (self.principal, self.deed, self.lost)

    def __str__(self) -> str:
        shown = ", ".join(self.names[:4]) + (f" and {len(self.names) - 4} more" if len(self.names) > 4 else "")
        said = "could no longer" if self.lost else "could, unlike now,"
        return f"{self.principal} {said} {self.deed} {shown}"


class _Rights:
    """One cluster's authorizer, which decides once about each distinct set of ACLs."""

    def __init__(self, acls: Collection[Acl], *, open_to_all: bool) -> None:
        self._authorizer = Authorizer(acls)
        self._open_to_all = open_to_all
        self._asked: dict[tuple[str, AclOperation, str, frozenset[Acl]], bool] = {}
        self.candidates = self._authorizer.allowed

    def covering(self, resource: ResourceType, name: str) -> frozenset[Acl]:
        """Return the ACLs that cover a name."""
        return frozenset(self._authorizer.about(resource, name))

    def leaves_open(self, covering: frozenset[Acl]) -> bool:
        """Return whether everybody may do everything with a name, as no ACL covers it."""
        return self._open_to_all and not covering

    def allows(
        self, principal: str, operation: AclOperation, resource: ResourceType, covering: frozenset[Acl], *, host: str
    ) -> bool:
        """Decide as the broker would, by the ACLs that cover a name."""
        if self.leaves_open(covering):
            return True
        about_it = frozenset(acl for acl in covering if acl.principal in (principal, EVERYONE))
        key = (principal, operation, host, about_it)
        if key not in self._asked:
            # All of them cover the name; one that is named "*" covers whatever name is asked for.
            everywhere = frozenset(_anywhere(acl) for acl in about_it)
            self._asked[key] = Authorizer(everywhere).allows(principal, operation, resource, "any", host=host)
        return self._asked[key]


def _anywhere(acl: Acl) -> Acl:
    return Acl(acl.resource, "*", PatternType.LITERAL, acl.principal, acl.operation, acl.permission, acl.host)


def compare_access(
    active: Collection[Acl],
    standby: Collection[Acl],
    group: ProtectionGroup,
    *,
    topics: Collection[str],
    groups: Collection[str],
    open_to_all: tuple[bool, bool] = (False, False),
) -> tuple[Access, ...]:
    """Return what would be otherwise after a switch, by principal and deed.

    :param active: the active cluster's ACLs, without a fence of this project
    :param standby: the standby's ACLs, without its fence: as they are once it is lifted
    :param topics: the group's topics
    :param groups: the group's consumer groups that exist; declared ones, and those in ACLs, are asked about anyway
    :param open_to_all: whether the active cluster, and the standby, let everybody do what no ACL is about
    """
    now, then = (_Rights(acls, open_to_all=told) for acls, told in zip((active, standby), open_to_all, strict=True))
    aside = {group.operator_principal, group.probe_principal, group.replicator_principal, *group.super_users}
    principals = sorted((now.candidates | then.candidates | set(group.principals)) - aside)
    named = _named({*active, *standby}, group)
    names = {
        ResourceType.TOPIC: {*topics},
        ResourceType.GROUP: {*groups, *group.consumer_groups, *group.consumer_group_prefixes},
        ResourceType.TRANSACTIONAL_ID: {*group.transactional_ids, *group.transactional_id_prefixes},
    }
    found: dict[tuple[str, Deed, bool], list[str]] = defaultdict(list)
    for resource, asked in names.items():
        for name in sorted(asked | named[resource]):
            active_acls, standby_acls = now.covering(resource, name), then.covering(resource, name)
            hosts = _hosts(active_acls | standby_acls)
            left_open = now.leaves_open(active_acls), then.leaves_open(standby_acls)
            for principal, deed, operation in _questions(principals, resource, active_acls, standby_acls, left_open):
                may, would = (
                    {host for host in hosts if rights.allows(principal, operation, resource, covering, host=host)}
                    for rights, covering in ((now, active_acls), (then, standby_acls))
                )
                for lost, addresses in ((True, may - would), (False, would - may)):
                    if addresses:
                        found[principal, deed, lost].append(_from(name, addresses, hosts))
    return tuple(
        Access(principal, deed, tuple(listed), lost, declared=principal in group.principals)
        for (principal, deed, lost), listed in sorted(found.items())
    )


def _hosts(acls: Collection[Acl]) -> frozenset[str]:
    """Return the addresses that make a difference: those that an ACL names, and one that none does."""
    return frozenset(acl.host for acl in acls) - {_ANY_HOST} | {_ELSEWHERE}


def _from(name: str, addresses: Collection[str], all_of_them: Collection[str]) -> str:
    return name if len(addresses) == len(all_of_them) else f"{name} from {', '.join(sorted(addresses))}"


def _named(acls: Iterable[Acl], group: ProtectionGroup) -> dict[ResourceType, set[str]]:
    """Return the group's names that ACLs know: of topics and groups to come, and of ids that brokers never list.

    A right by a longer prefix than the declared one is asked about by that prefix.
    """
    owned = {
        ResourceType.TOPIC: group.owns_topic,
        ResourceType.GROUP: group.owns_group,
        ResourceType.TRANSACTIONAL_ID: group.owns_transactional_id,
    }
    found: dict[ResourceType, set[str]] = {resource: set() for resource in owned}
    for acl in acls:
        if acl.resource in owned and owned[acl.resource](acl.name):
            found[acl.resource].add(acl.name)
    found[ResourceType.TOPIC] -= set(group.topic_prefixes)
    return found


def _questions(
    principals: Iterable[str],
    resource: ResourceType,
    active_acls: frozenset[Acl],
    standby_acls: frozenset[Acl],
    left_open: tuple[bool, bool],
) -> Iterator[tuple[str, Deed, AclOperation]]:
    """Yield what has to be asked about a name: nothing if both clusters hold the same ACLs about it, or open it."""
    if active_acls == standby_acls and left_open[0] == left_open[1]:
        return
    differing = {acl.principal for acl in active_acls ^ standby_acls}
    for principal in principals:
        if principal in differing or EVERYONE in differing or any(left_open):
            for deed, about, operation in _DEEDS:
                if about is resource:
                    yield principal, deed, operation
