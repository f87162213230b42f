"""Which principals can write: Kafka's StandardAuthorizer, computed in memory from all ACLs of a cluster.

The rule (KIP-11, KIP-290; ``StandardAuthorizerData``): a super user may do everything; otherwise any matching DENY
refuses; otherwise any matching ALLOW permits; otherwise nothing is permitted, unless
``allow.everyone.if.no.acl.found`` is set and no ACL names the resource at all.

Between an approval and the fence it decides about thousands of topics with thousands of ACLs. So the ACLs for a name
are looked up by the name and by each of its prefixes, instead of searching all ACLs.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType

EVERYONE = "User:*"

#: Represents every address that no ACL names.
_ELSEWHERE = "elsewhere"
#: An ALLOW of one of these also allows the operation (``AclEntry``); a DENY denies only its own operation, or ALL.
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


#: The patterns that cover a name: what is decided depends on nothing else.
_Covering = tuple[tuple[ResourceType, PatternType, str], ...]


class Authorizer:
    """A cluster's authorizer.

    :param acls: every ACL of the cluster
    :param super_users: the principals that no ACL restricts; brokers do not show them, the topology declares them
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
        # Thousands of topics are asked about, for each principal; most of them are covered by the same ACLs.
        self._covered: dict[tuple[ResourceType, str], _Covering] = {}
        self._decided: dict[tuple[str, AclOperation, str, _Covering], bool] = {}
        #: Every principal that an ACL allows anything.
        self.allowed = frozenset(acl.principal for acl in acls if acl.permission is AclPermission.ALLOW)

    def about(self, resource: ResourceType, name: str) -> list[Acl]:
        """Return the ACLs that cover a name."""
        return [acl for each in self._covering(resource, name) for acl in self._by_name[each]]

    def _covering(self, resource: ResourceType, name: str) -> _Covering:
        """Return the patterns with ACLs that cover a name."""
        if (found := self._covered.get((resource, name))) is None:
            exact = [(resource, PatternType.LITERAL, each) for each in sorted({name, "*"})]
            prefixes = [(resource, PatternType.PREFIXED, name[:length]) for length in range(len(name) + 1)]
            found = self._covered[resource, name] = tuple(each for each in exact + prefixes if each in self._by_name)
        return found

    def allows(
        self, principal: str, operation: AclOperation, resource: ResourceType, name: str, *, host: str = "*"
    ) -> bool:
        """Return what the broker would decide.

        :param host: the address of the principal; ``*``: whether it is allowed from at least one address
        """
        asked = (principal, operation, host, self._covering(resource, name))
        if (decided := self._decided.get(asked)) is None:
            decided = self._decided[asked] = self._decide(principal, operation, self.about(resource, name), host)
        return decided

    def allows_everywhere(self, principal: str, operation: AclOperation, resource: ResourceType) -> bool:
        """Return whether a principal may do something with every resource of a kind, including unnamed ones."""
        unnamed = self._by_name.get((resource, PatternType.LITERAL, "*"), [])
        unnamed = unnamed + self._by_name.get((resource, PatternType.PREFIXED, ""), [])
        return self._decide(principal, operation, unnamed, "*") and all(
            self.allows(principal, operation, resource, name) for name in self.names(resource)
        )

    def names(self, resource: ResourceType) -> frozenset[str]:
        """Return the names and prefixes that ACLs for this kind of resource contain."""
        return frozenset(name for kind, _, name in self._by_name if kind is resource)

    def writers(self, topics: Collection[str]) -> frozenset[str]:
        """Return every principal that may write to at least one of the topics; ``User:*`` if everyone may."""
        return self.able(AclOperation.WRITE, ResourceType.TOPIC, topics)

    def readers(self, topics: Collection[str]) -> frozenset[str]:
        """Return every principal that may read at least one of the topics; ``User:*`` if everyone may."""
        return self.able(AclOperation.READ, ResourceType.TOPIC, topics)

    def able(self, operation: AclOperation, resource: ResourceType, names: Collection[str]) -> frozenset[str]:
        """Return every principal that may do this to at least one of the names; ``User:*`` if everyone may."""
        found = set(self._super_users) if names else set()
        for name in names:
            about = self.about(resource, name)
            if not about and self._allow_if_no_acl:
                found |= self.allowed | {EVERYONE}
            mine = _by_principal(about, _allowing(operation))
            everyones = mine.pop(EVERYONE, [])
            if _anywhere(everyones, operation):
                # Including principals without an ALLOW of their own, unless a DENY names them.
                found |= {EVERYONE} | (self.allowed - mine.keys())
            found |= {
                who for who in (mine.keys() & self.allowed) - found if _anywhere([*mine[who], *everyones], operation)
            }
        return frozenset(found)

    def without_acls(self, topics: Collection[str]) -> list[str]:
        """Return the topics that everyone may write to because no ACL names them."""
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
    """Return the operations whose ALLOW also allows this operation."""
    return _IMPLIED_BY.get(operation, frozenset({operation})) | {AclOperation.ALL}


def _anywhere(acls: Collection[Acl], operation: AclOperation) -> bool:
    """Return whether these ACLs permit the operation from at least one address."""
    if not any(acl.permission is AclPermission.ALLOW for acl in acls):
        return False
    hosts = {acl.host for acl in acls} - {"*"} | {_ELSEWHERE}
    return any(_permits(acls, operation, host) for host in hosts)


def _permits(acls: Collection[Acl], operation: AclOperation, host: str) -> bool:
    matching = [acl for acl in acls if acl.host in (host, "*")]
    if any(acl.permission is AclPermission.DENY and acl.operation in (operation, AclOperation.ALL) for acl in matching):
        return False
    allowing = _allowing(operation)
    return any(acl.permission is AclPermission.ALLOW and acl.operation in allowing for acl in matching)
