"""The ACLs of a cluster as each broker knows them: a broker decides by what it knows itself (KIP-11)."""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import DescribeAclsRequest

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.topics import Topics
from kafka_dr.parallel import ask_all

#: The numbers of the protocol (``DescribeAclsRequest.json``; ``ResourceType``, ``PatternType``, ``AclOperation`` and
#: ``AclPermissionType`` of Kafka's Java client).
_ANY = 1
_RESOURCE_OF = {2: ResourceType.TOPIC, 3: ResourceType.GROUP, 4: ResourceType.CLUSTER, 5: ResourceType.TRANSACTIONAL_ID}
_PATTERN_OF = {3: PatternType.LITERAL, 4: PatternType.PREFIXED}
_OPERATION_OF = dict(
    enumerate(
        (
            AclOperation.ALL,
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.CREATE,
            AclOperation.DELETE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            AclOperation.IDEMPOTENT_WRITE,
        ),
        2,
    )
)
_PERMISSION_OF = {2: AclPermission.DENY, 3: AclPermission.ALLOW}
_DENY = 2


class AclsOfBrokers:
    """Reads the ACLs that each broker knows.

    :param session: of a principal with DESCRIBE on the cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def list(self, *, only_denies: bool = False) -> dict[int, frozenset[Acl]]:
        """Return the ACLs by the number of the broker, except those of kinds that no fence knows (users, tokens).

        :param only_denies: leave out ALLOWs, of which there may be many
        :raises NotAuthorized: the principal has no DESCRIBE on the cluster
        :raises TryAgain: a broker does not answer
        """
        brokers = Topics(self._session).identity().brokers
        return ask_all(lambda broker: self._of(broker, _DENY if only_denies else _ANY), brokers)

    def _of(self, broker: int, permission: int) -> frozenset[Acl]:
        wanted = DescribeAclsRequest(
            resource_type_filter=_ANY,
            resource_name_filter=None,
            pattern_type_filter=_ANY,
            principal_filter=None,
            host_filter=None,
            operation=_ANY,
            permission_type=permission,
        )
        doing = f"read the ACLs of broker {broker}"
        answer = self._session.request(wanted, doing, broker=broker)
        if error := self._session.error(answer.error_code, answer.error_message, doing):
            raise error
        return frozenset(
            _acl(row, rule)
            for row in answer.resources
            if row.resource_type in _RESOURCE_OF
            for rule in row.acls
            if rule.operation in _OPERATION_OF
        )


def _acl(row: Any, rule: Any) -> Acl:
    return Acl(
        resource=_RESOURCE_OF[row.resource_type],
        name=row.resource_name,
        pattern=_PATTERN_OF[row.pattern_type],
        principal=rule.principal,
        operation=_OPERATION_OF[rule.operation],
        permission=_PERMISSION_OF[rule.permission_type],
        host=rule.host,
    )
