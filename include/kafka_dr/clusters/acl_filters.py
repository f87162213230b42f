"""Filters that remove certain ACLs and no others.

For each filter of a request the controller looks at every ACL of the cluster (``AclControlManager.deleteAcls``, 4.3).
It does nothing else in that time: 3,000 filters that named one ACL each kept a controller with 27,000 ACLs busy for
more than a minute. So, when many ACLs are removed, one filter covers all ACLs of a principal or of a resource name,
provided that it matches no other ACL of the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType

#: Up to this number, each ACL is removed by a filter of its own, and the cluster's other ACLs are not read.
FEW_ACLS = 50
#: The most ACLs that one request may remove: controllers refuse more than 10,000 (``MAX_RECORDS_PER_USER_OP``).
MOST_ACLS = 2_500
#: How often one request may make the controller look at an ACL; about one second on a small machine.
MOST_LOOKS = 1_000_000
#: Up to this number of looks (a few hundredths of a second), each ACL gets a filter of its own.
_FEW_LOOKS = 50_000


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Matches the ACLs that have all of these values; ``None`` matches every value.

    The resource type is always set, so ACLs of other types (delegation tokens, for example) never match.
    """

    resource: ResourceType
    permission: AclPermission
    principal: str | None = None
    operation: AclOperation | None = None
    name: str | None = None
    pattern: PatternType | None = None
    host: str | None = None

    def matches(self, acl: Acl) -> bool:
        """Return whether a broker would apply this filter to the ACL."""
        return all(
            wanted is None or wanted == getattr(acl, name)
            for name, wanted in ((name, getattr(self, name)) for name in self.__slots__)
        )


def closed_first(acls: Iterable[Acl]) -> list[Acl]:
    """Return ACLs in the order in which many are added: whoever dies in between has closed more than opened.

    DENYs come before ALLOWs, and of each kind prefixes first, as one of them covers many names. Removed in the opposite
    order, an ALLOW is gone before the DENY that held it back.
    """
    prefixed_last = sorted(frozenset(acls), key=lambda acl: (acl.pattern is not PatternType.PREFIXED, acl))
    return sorted(prefixed_last, key=lambda acl: acl.permission is not AclPermission.DENY)


def exactly(acl: Acl) -> AclFilter:
    """Return the filter that matches this ACL alone."""
    return AclFilter(acl.resource, acl.permission, acl.principal, acl.operation, acl.name, acl.pattern, acl.host)


#: Filters that cover several ACLs at once, the widest first.
_WIDE: tuple[Callable[[Acl], AclFilter], ...] = (
    lambda acl: AclFilter(acl.resource, acl.permission, acl.principal),
    lambda acl: AclFilter(acl.resource, acl.permission, acl.principal, acl.operation),
    lambda acl: AclFilter(acl.resource, acl.permission, operation=acl.operation, name=acl.name, pattern=acl.pattern),
)


def filters_for(removed: Collection[Acl], present: Collection[Acl]) -> dict[AclFilter, int]:
    """Return filters that match every ACL to be removed, and no other ACL of the cluster.

    :param removed: the ACLs to be removed
    :param present: every ACL of the cluster
    :returns: by filter, how many ACLs it matches; never more than one request may remove
    """
    left = frozenset(removed) & frozenset(present)
    found: dict[AclFilter, int] = {}
    if len(left) * len(present) > _FEW_LOOKS:
        for widen in _WIDE:
            matched, wanted = Counter(map(widen, present)), Counter(map(widen, left))
            fitting = {each: n for each, n in wanted.items() if 1 < n <= MOST_ACLS and n == matched[each]}
            found |= fitting
            left = frozenset(acl for acl in left if widen(acl) not in fitting)
    return found | {exactly(acl): 1 for acl in sorted(left)}


def requests_of(filters: Mapping[AclFilter, int], present: int) -> Iterator[list[AclFilter]]:
    """Divide filters into requests that a controller accepts and that do not keep it busy for long.

    :param filters: by filter, how many ACLs it matches
    :param present: how many ACLs the cluster has
    """
    most_filters = max(1, MOST_LOOKS // max(1, present))
    batch: list[AclFilter] = []
    matched = 0
    for each, count in filters.items():
        if batch and (len(batch) >= most_filters or matched + count > MOST_ACLS):
            yield batch
            batch, matched = [], 0
        batch.append(each)
        matched += count
    if batch:
        yield batch
