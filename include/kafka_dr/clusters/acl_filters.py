"""Which filters remove certain ACLs and no others.

For each filter of a request a controller looks at every ACL that there is (``AclControlManager.deleteAcls``, 4.3), and
does nothing else meanwhile: 3,000 filters that name one ACL each kept it busy for more than a minute where there were
27,000 (seen). So where there are many, one filter names all that a principal is denied, or all that is said of a
name, if nothing else that is there would match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType

#: So many are removed by naming each: that takes no time worth a look at what else there is.
FEW_ACLS = 50
#: What one request may remove: controllers refuse more than 10,000 (``MAX_RECORDS_PER_USER_OP``).
MOST_ACLS = 2_500
#: How many times one request may make the controller look at an ACL; about a second on a small machine.
MOST_LOOKS = 1_000_000
#: So few looks, some hundredths of a second, are well spent on naming each ACL by itself.
_FEW_LOOKS = 50_000


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Matches the ACLs that have each of these values; ``None`` matches every value.

    It always names the resource's type: others, of delegation tokens for instance, are not looked at here.
    """

    resource: ResourceType
    permission: AclPermission
    principal: str | None = None
    operation: AclOperation | None = None
    name: str | None = None
    pattern: PatternType | None = None
    host: str | None = None

    def matches(self, acl: Acl) -> bool:
        """Decide as a broker would."""
        return all(
            wanted is None or wanted == getattr(acl, name)
            for name, wanted in ((name, getattr(self, name)) for name in self.__slots__)
        )


def exactly(acl: Acl) -> AclFilter:
    """Return the filter that matches this ACL alone."""
    return AclFilter(acl.resource, acl.permission, acl.principal, acl.operation, acl.name, acl.pattern, acl.host)


#: From the widest, each a way to name several ACLs at once.
_WIDE: tuple[Callable[[Acl], AclFilter], ...] = (
    lambda acl: AclFilter(acl.resource, acl.permission, acl.principal),
    lambda acl: AclFilter(acl.resource, acl.permission, acl.principal, acl.operation),
    lambda acl: AclFilter(acl.resource, acl.permission, operation=acl.operation, name=acl.name, pattern=acl.pattern),
)


def filters_for(removed: Collection[Acl], standing: Collection[Acl]) -> dict[AclFilter, int]:
    """Return filters that match every ACL to be removed, and nothing else of what is there.

    :param standing: every ACL of the cluster
    :returns: with each filter how many ACLs it matches; never more than one request may remove
    """
    left = frozenset(removed) & frozenset(standing)
    found: dict[AclFilter, int] = {}
    if len(left) * len(standing) > _FEW_LOOKS:
        for widen in _WIDE:
            there, wanted = Counter(map(widen, standing)), Counter(map(widen, left))
            fitting = {each: n for each, n in wanted.items() if 1 < n <= MOST_ACLS and n == there[each]}
            found |= fitting
            left = frozenset(acl for acl in left if widen(acl) not in fitting)
    return found | {exactly(acl): 1 for acl in sorted(left)}


def requests_of(filters: Mapping[AclFilter, int], standing: int) -> Iterator[list[AclFilter]]:
    """Divide filters into requests that a controller takes, and that do not keep it busy for long.

    :param filters: with how many ACLs each of them matches
    :param standing: how many ACLs there are
    """
    most_filters = max(1, MOST_LOOKS // max(1, standing))
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
