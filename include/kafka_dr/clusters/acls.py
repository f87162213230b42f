"""The authorizer's entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import tenacity
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclPermissionType,
    ResourcePatternType,
)
from confluent_kafka.admin import AclOperation as ClientOperation
from confluent_kafka.admin import ResourceType as ClientResourceType
from kafka.protocol.admin import DescribeClusterRequest

from kafka_dr.clusters.errors import NotAuthorized
from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.python_requests import ask, error_of
from kafka_dr.clusters.session import ClusterSession

_RESOURCES = {
    ResourceType.TOPIC: ClientResourceType.TOPIC,
    ResourceType.GROUP: ClientResourceType.GROUP,
    # librdkafka calls the cluster resource BROKER; its name is always kafka-cluster.
    ResourceType.CLUSTER: ClientResourceType.BROKER,
    ResourceType.TRANSACTIONAL_ID: ClientResourceType.TRANSACTIONAL_ID,
}
_RESOURCE_OF = {client: ours for ours, client in _RESOURCES.items()}

#: How long a broker gets to hear of a change.
_KNOWN_SECONDS = 2.0


class Acls:
    """Reads, adds and removes ACLs, each as it is: never by a pattern that could catch more."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def list(self) -> frozenset[Acl]:
        """Return every ACL of the cluster, other than those about delegation tokens and users.

        :raises NotAuthorized: the principal has no DESCRIBE on the cluster
        """
        everything = AclBindingFilter(
            ClientResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            None,
            None,
            ClientOperation.ANY,
            AclPermissionType.ANY,
        )
        future = self._session.admin.describe_acls(everything, request_timeout=self._session.request_seconds)
        bindings = self._session.wait([future], "read the ACLs")[0]
        if not bindings:
            self._refuse_blindness()
        return frozenset(_acl(binding) for binding in bindings if binding.restype in _RESOURCE_OF)

    def _refuse_blindness(self) -> None:
        """Tell a cluster without ACLs from one that will not show them: librdkafka answers both with an empty list."""
        wanted = DescribeClusterRequest(include_cluster_authorized_operations=True)
        answer = ask(self._session, wanted, "read the ACLs")
        if error := error_of(self._session, answer.error_code, answer.error_message, "read the ACLs"):
            raise error
        if ClientOperation.DESCRIBE.value not in answer.authorized_operations:  # their numbers, from a field of bits
            raise NotAuthorized(f"{self._session.label}: could not read the ACLs: no right to DESCRIBE the cluster")

    def add(self, acls: Iterable[Acl]) -> None:
        """Add ACLs. One that is there already stays as it is."""
        added = frozenset(acls)
        if added:
            bindings = list(map(_binding, added))
            futures = self._session.admin.create_acls(bindings, request_timeout=self._session.request_seconds)
            self._session.results(futures, "add ACLs")
            self._wait_until_known(added.issubset)

    def remove(self, acls: Iterable[Acl]) -> None:
        """Remove exactly these ACLs. One that is not there is no error."""
        removed = frozenset(acls)
        if removed:
            filters = list(map(_filter, removed))
            futures = self._session.admin.delete_acls(filters, request_timeout=self._session.request_seconds)
            self._session.results(futures, "remove ACLs")
            self._wait_until_known(removed.isdisjoint)

    def _wait_until_known(self, known: Callable[[frozenset[Acl]], bool]) -> None:
        """Wait a moment until the broker that is asked has heard of a change: the controller answered, and it follows.

        One that takes longer is no error: whoever rests on the change proves it, on every broker that matters.
        """
        asking = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda standing: not known(standing)),
            stop=tenacity.stop_after_delay(_KNOWN_SECONDS),
            wait=tenacity.wait_fixed(0.02),
            retry_error_callback=lambda _: None,
        )
        with suppress(NotAuthorized):
            asking(self.list)


def _acl(binding: AclBinding) -> Acl:
    return Acl(
        resource=_RESOURCE_OF[binding.restype],
        name=binding.name,
        pattern=PatternType(binding.resource_pattern_type.name.lower()),
        principal=binding.principal,
        operation=AclOperation(binding.operation.name),
        permission=AclPermission(binding.permission_type.name),
        host=binding.host,
    )


def _fields(acl: Acl) -> tuple[object, ...]:
    return (
        _RESOURCES[acl.resource],
        acl.name,
        ResourcePatternType[acl.pattern.name],
        acl.principal,
        acl.host,
        ClientOperation[acl.operation.name],
        AclPermissionType[acl.permission.name],
    )


def _binding(acl: Acl) -> AclBinding:
    return AclBinding(*_fields(acl))


def _filter(acl: Acl) -> AclBindingFilter:
    return AclBindingFilter(*_fields(acl))
