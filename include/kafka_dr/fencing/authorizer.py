"""Who can write: Kafka's StandardAuthorizer decided in memory, over all of a cluster's ACLs.

The rule (KIP-11, KIP-290; ``StandardAuthorizerData``): a super user may do everything; else any matching DENY
refuses; else any matching ALLOW permits; else nothing is permitted, unless
``allow.everyone.if.no.acl.found`` is set and no ACL names the resource at all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Authorizer:
    """A cluster's authorizer.

    :param acls: every ACL of the cluster
    :param super_users: the principals that pass every ACL; brokers do not tell them, the topology declares them
    :param allow_if_no_acl: ``allow.everyone.if.no.acl.found``
    """

    acls: frozenset[Acl]
    super_users: frozenset[str] = frozenset()
    allow_if_no_acl: bool = False

    def allows(
        self, principal: str, operation: AclOperation, resource: ResourceType, name: str, *, host: str = "*"
    ) -> bool:
        """Decide as the broker would.

        :param host: the address the principal comes from; ``*`` asks whether there is any from which it may
        """
        if principal in self.super_users:
            return True
        about = [acl for acl in self.acls if _covers(acl, resource, name)]
        if not about:
            return self.allow_if_no_acl
        mine = [acl for acl in about if acl.principal in (principal, EVERYONE)]
        hosts = {acl.host for acl in mine} | {_ELSEWHERE} if host == "*" else {host}
        return any(_permits(mine, operation, address) for address in hosts - {"*"})

    def writers(self, topics: Collection[str]) -> frozenset[str]:
        """Return every principal that may write to at least one of the topics; ``User:*`` where everyone may."""
        candidates = {acl.principal for acl in self.acls if acl.permission is AclPermission.ALLOW} | self.super_users
        found = {
            principal
            for principal in candidates
            if any(self.allows(principal, AclOperation.WRITE, ResourceType.TOPIC, topic) for topic in topics)
        }
        unnamed = self.allow_if_no_acl and any(
            not any(_covers(acl, ResourceType.TOPIC, topic) for acl in self.acls) for topic in topics
        )
        return frozenset(found | ({EVERYONE} if unnamed else set()))


def _covers(acl: Acl, resource: ResourceType, name: str) -> bool:
    if acl.resource is not resource:
        return False
    if acl.pattern is PatternType.PREFIXED:
        return name.startswith(acl.name)
    return acl.name in (name, "*")


def _permits(acls: Collection[Acl], operation: AclOperation, host: str) -> bool:
    here = [acl for acl in acls if acl.host in (host, "*")]
    if any(acl.permission is AclPermission.DENY and acl.operation in (operation, AclOperation.ALL) for acl in here):
        return False
    allowing = _IMPLIED_BY.get(operation, frozenset({operation})) | {AclOperation.ALL}
    return any(acl.permission is AclPermission.ALLOW and acl.operation in allowing for acl in here)
