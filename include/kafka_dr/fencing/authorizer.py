"""Who can write: Kafka's StandardAuthorizer decided in memory, over all of a cluster's ACLs.

The rule (KIP-11, KIP-290; ``StandardAuthorizerData``): a super user may do everything; else any matching DENY
refuses; else any matching ALLOW permits; else nothing is permitted, unless
``allow.everyone.if.no.acl.found`` is set and no ACL names the resource at all.

It is asked about thousands of topics with thousands of ACLs between an approval and the fence, so the ACLs about a name
are looked up by the name and each of its beginnings, and never searched.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType

EVERYONE = "User:*"

#: Stands for every address that no ACL names.
_ELSEWHERE = "elsewhere"
#: An ALLOW of one of these also allows the operation (``AclEntry``); a DENY denies only itself, or all.
_IMPLIED_BY = {
    AclOperation.DESCRIBE: frozenset(
        {
            AclOperation.DESCRIBE,
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.DELETE,
            AclOperation.ALTER,
        }
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}),
}


class Authorizer:
    """A cluster's authorizer.

    :param acls: every ACL of the cluster
    :param super_users: the principals that pass every ACL; brokers do not tell them, the topology declares them
    :param allow_if_no_acl: ``allow.everyone.if.no.acl.found``
    """

    def __init__(
        self, acls: Collection[Acl], super_users: Collection[str] = (), *, allow_if_no_acl: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        self._by_name: dict[tuple[ResourceType, PatternType, str], list[Acl]] = {}
        for acl in acls:
            self._by_name.setdefault((acl.resource, acl.pattern, acl.name), []).append(acl)
        #: Everybody whom an ACL allows anything.
        self.allowed = frozenset(acl.principal for acl in acls if acl.permission is AclPermission.ALLOW)

    def about(self, resource: ResourceType, name: str) -> list[Acl]:
        """Return the ACLs that cover a name."""
        exact = [(PatternType.LITERAL, each) for each in {name, "*"}]
        beginnings = [(PatternType.PREFIXED, name[:length]) for length in range(len(name) + 1)]
        return [acl for where in exact + beginnings for acl in self._by_name.get((resource, *where), ())]

    def allows(
        self, principal: str, operation: AclOperation, resource: ResourceType, name: str, *, host: str = "*"
    ) -> bool:
        """Decide as the broker would.

        :param host: the address the principal comes from; ``*`` asks whether there is any from which it may
        """
        return self._decide(principal, operation, self.about(resource, name), host)

    def allows_everywhere(self, principal: str, operation: AclOperation, resource: ResourceType) -> bool:
        """Return whether a principal may do something with every resource of a kind, also with what nobody named."""
        unnamed = self._by_name.get((resource, PatternType.LITERAL, "*"), [])
        unnamed = unnamed + self._by_name.get((resource, PatternType.PREFIXED, ""), [])
        return self._decide(principal, operation, unnamed, "*") and all(
            self.allows(principal, operation, resource, name) for name in self.names(resource)
        )

    def names(self, resource: ResourceType) -> frozenset[str]:
        """Return what ACLs name of a kind, literally or by its beginning."""
        return frozenset(name for kind, _, name in self._by_name if kind is resource)

    def writers(self, topics: Collection[str]) -> frozenset[str]:
        """Return every principal that may write to at least one of the topics; ``User:*`` where everyone may."""
        return self.able(AclOperation.WRITE, ResourceType.TOPIC, topics)

    def readers(self, topics: Collection[str]) -> frozenset[str]:
        """Return every principal that may read at least one of the topics; ``User:*`` where everyone may."""
        return self.able(AclOperation.READ, ResourceType.TOPIC, topics)

    def able(self, operation: AclOperation, resource: ResourceType, names: Collection[str]) -> frozenset[str]:
        """Return every principal that may do this to at least one of the names; ``User:*`` where everyone may."""
        found = set(self._super_users) if names else set()
        for name in names:
            about = self.about(resource, name)
            if not about and self._allow_if_no_acl:
                found |= self.allowed | {EVERYONE}
            mine = _by_principal(about, _allowing(operation))
            everyones = mine.pop(EVERYONE, [])
            if _anywhere(everyones, operation):
                # Also who has no right of their own, unless somebody denies it.
                found |= {EVERYONE} | (self.allowed - mine.keys())
            found |= {
                who for who in (mine.keys() & self.allowed) - found if _anywhere([*mine[who], *everyones], operation)
            }
        return frozenset(found)

    def left_open(self, topics: Collection[str]) -> list[str]:
        """Return the topics that everybody may write to because no ACL names them."""
        if not self._allow_if_no_acl:
            return []
        return sorted(topic for topic in topics if not self.about(ResourceType.TOPIC, topic))

    def _decide(self, principal: str, operation: AclOperation, about: Collection[Acl], host: str) -> bool:
        if principal in self._super_users:
            return True
        if not about:
            return self._allow_if_no_acl
        mine = [acl for acl in about if acl.principal in (principal, EVERYONE)]
        return _anywhere(mine, operation) if host == "*" else _permits(mine, operation, host)


def _by_principal(acls: Collection[Acl], operations: Collection[AclOperation]) -> dict[str, list[Acl]]:
    found: dict[str, list[Acl]] = {}
    for acl in acls:
        if acl.operation in operations:
            found.setdefault(acl.principal, []).append(acl)
    return found


def _allowing(operation: AclOperation) -> frozenset[AclOperation]:
    """Return what allows an operation when it is allowed itself."""
    return _IMPLIED_BY.get(operation, frozenset({operation})) | {AclOperation.ALL}


def _anywhere(acls: Collection[Acl], operation: AclOperation) -> bool:
    """Decide whether there is an address from which these permit it."""
    if not any(acl.permission is AclPermission.ALLOW for acl in acls):
        return False
    hosts = {acl.host for acl in acls} - {"*"} | {_ELSEWHERE}
    return any(_permits(acls, operation, host) for host in hosts)


def _permits(acls: Collection[Acl], operation: AclOperation, host: str) -> bool:
    here = [acl for acl in acls if acl.host in (host, "*")]
    if any(acl.permission is AclPermission.DENY and acl.operation in (operation, AclOperation.ALL) for acl in here):
        return False
    allowing = _allowing(operation)
    return any(acl.permission is AclPermission.ALLOW and acl.operation in allowing for acl in here)
