"""The authorizer's entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

from kafka_dr.clusters.acl_filters import FEW_ACLS, MOST_ACLS, AclFilter, exactly, filters_for, requests_of
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
#: Looked up, not made again: there are tens of thousands to be read while applications wait.
_RESOURCE_OF = {client: ours for ours, client in _RESOURCES.items()}
_PATTERN_OF = {ResourcePatternType[ours.name]: ours for ours in PatternType}
_OPERATION_OF = {ClientOperation[ours.name]: ours for ours in AclOperation}
_PERMISSION_OF = {AclPermissionType[ours.name]: ours for ours in AclPermission}

#: How long a broker gets to hear of a change.
_KNOWN_SECONDS = 2.0


class Acls:
    """Reads, adds and removes ACLs, each as it is: never by a pattern that catches more."""

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

    def add(self, acls: Iterable[Acl], *, before_each: Callable[[], None] | None = None) -> None:
        """Add ACLs, in their order and in as many requests as a controller wants. One that is there stays as it is.

        :param before_each: asked right before each request; what it raises ends the adding
        """
        added = sorted(frozenset(acls))
        for start in range(0, len(added), MOST_ACLS):
            if before_each is not None:
                before_each()
            bindings = list(map(_binding, added[start : start + MOST_ACLS]))
            futures = self._session.admin.create_acls(bindings, request_timeout=self._session.request_seconds)
            self._session.results(futures, "add ACLs")
        if added:
            self._wait_until_known(frozenset(added).issubset)

    def remove(self, acls: Iterable[Acl], *, before_each: Callable[[], None] | None = None) -> None:
        """Remove exactly these ACLs, in as many requests as a controller wants. One that is not there is no error.

        Where many are named by one filter, an ACL may be caught that was added since the others were looked at: it is
        put back at once.

        :param before_each: asked right before each request; what it raises ends the removing
        """
        removed = frozenset(acls)
        if not removed:
            return
        # Few are named one by one, whatever else is there: applications wait for some of these.
        standing = self._standing() if len(removed) > FEW_ACLS else frozenset()
        seen = removed & standing
        self._remove(filters_for(seen, standing), removed, standing=len(standing), before_each=before_each)
        # The broker that was asked may not have heard of these yet.
        unseen = {exactly(acl): 1 for acl in sorted(removed - seen)}
        self._remove(unseen, removed, standing=len(standing - seen), before_each=before_each)
        self._wait_until_known(removed.isdisjoint)

    def _remove(
        self,
        filters: Mapping[AclFilter, int],
        removed: frozenset[Acl],
        *,
        standing: int,
        before_each: Callable[[], None] | None,
    ) -> None:
        for batch in requests_of(filters, standing):
            if before_each is not None:
                before_each()
            futures = self._session.admin.delete_acls(
                list(map(_filter, batch)), request_timeout=self._session.request_seconds
            )
            gone = self._session.results(futures, "remove ACLs")
            self.add(frozenset(_acl(binding) for bindings in gone.values() for binding in bindings) - removed)

    def _standing(self) -> frozenset[Acl]:
        """Return every ACL; nothing where the principal may not look, and then each is removed by its own name."""
        try:
            return self.list()
        except NotAuthorized:
            return frozenset()

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
        pattern=_PATTERN_OF[binding.resource_pattern_type],
        principal=binding.principal,
        operation=_OPERATION_OF[binding.operation],
        permission=_PERMISSION_OF[binding.permission_type],
        host=binding.host,
    )


def _binding(acl: Acl) -> AclBinding:
    return AclBinding(
        _RESOURCES[acl.resource],
        acl.name,
        ResourcePatternType[acl.pattern.name],
        acl.principal,
        acl.host,
        ClientOperation[acl.operation.name],
        AclPermissionType[acl.permission.name],
    )


def _filter(wanted: AclFilter) -> AclBindingFilter:
    return AclBindingFilter(
        _RESOURCES[wanted.resource],
        wanted.name,
        ResourcePatternType.ANY if wanted.pattern is None else ResourcePatternType[wanted.pattern.name],
        wanted.principal,
        wanted.host,
        ClientOperation.ANY if wanted.operation is None else ClientOperation[wanted.operation.name],
        AclPermissionType[wanted.permission.name],
    )
