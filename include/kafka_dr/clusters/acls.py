"""The ACLs of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclPermissionType,
    ResourcePatternType,
)
from confluent_kafka.admin import AclOperation as ClientOperation
from confluent_kafka.admin import ResourceType as ClientResourceType
from kafka.protocol.admin import DescribeClusterRequest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.acl_filters import (
    FEW_ACLS,
    MOST_ACLS,
    AclFilter,
    closed_first,
    exactly,
    filters_for,
    requests_of,
)
from kafka_dr.clusters.errors import NotAuthorized
from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.shared_read import SharedRead
from kafka_dr.waiting import wait_until

_RESOURCES = {
    ResourceType.TOPIC: ClientResourceType.TOPIC,
    ResourceType.GROUP: ClientResourceType.GROUP,
    # librdkafka calls the cluster resource BROKER; its name is always kafka-cluster.
    ResourceType.CLUSTER: ClientResourceType.BROKER,
    ResourceType.TRANSACTIONAL_ID: ClientResourceType.TRANSACTIONAL_ID,
}
#: Looked up, not computed each time: tens of thousands of ACLs may be read while applications wait.
_RESOURCE_OF = {client: resource for resource, client in _RESOURCES.items()}
_PATTERN_OF = {ResourcePatternType[pattern.name]: pattern for pattern in PatternType}
_OPERATION_OF = {ClientOperation[operation.name]: operation for operation in AclOperation}
_PERMISSION_OF = {AclPermissionType[permission.name]: permission for permission in AclPermission}

#: How long to wait until a broker knows of a change, in seconds.
_KNOWN_SECONDS = 2.0
#: Between two such looks: brokers take milliseconds, and applications wait.
_KNOWN_PAUSE_SECONDS = 0.005


class Acls:
    """Reads, adds and removes exactly the named ACLs."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._shared: SharedRead[frozenset[Acl]] | None = None

    def share_reads(self) -> None:
        """Let callers that ask at the same time share a read, which begins after each of them has asked.

        For many groups in one process. Where applications wait, nobody should wait for another caller's read.
        """
        self._shared = SharedRead(self._list)

    def list(self) -> frozenset[Acl]:
        """Return every ACL of the cluster except those of delegation tokens and users.

        :raises NotAuthorized: the principal has no DESCRIBE on the cluster
        """
        return self._list() if self._shared is None else self._shared()

    def _list(self) -> frozenset[Acl]:
        everything = AclBindingFilter(
            ClientResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            None,
            None,
            ClientOperation.ANY,
            AclPermissionType.ANY,
        )
        bindings = self._session.read(
            lambda: self._session.admin.describe_acls(everything, request_timeout=self._session.request_seconds),
            "read the ACLs",
        )
        if not bindings:
            self._require_describe()
        return frozenset(_acl(binding) for binding in bindings if binding.restype in _RESOURCE_OF)

    def _require_describe(self) -> None:
        """Raise if an empty list means that the principal may not see ACLs: librdkafka returns no error for it."""
        if ClientOperation.DESCRIBE.value not in self._authorized_operations("read the ACLs"):
            raise NotAuthorized(
                f"{self._session.label}: could not read the ACLs: the principal lacks DESCRIBE on the cluster; grant it"
            )

    def may_change(self) -> bool:
        """Return whether the principal may add and remove ACLs: ALTER on the cluster."""
        return ClientOperation.ALTER.value in self._authorized_operations("ask whether ACLs may be changed")

    def _authorized_operations(self, doing: str) -> Collection[int]:
        """Return the numbers of what the principal may do with the cluster, from a field of bits."""
        wanted = DescribeClusterRequest(include_cluster_authorized_operations=True)
        answer = self._session.request(wanted, doing)
        if error := self._session.error(answer.error_code, answer.error_message, doing):
            raise error
        return frozenset(answer.authorized_operations)

    def add(self, acls: Iterable[Acl], *, before_each: Callable[[], object] | None = None) -> None:
        """Add ACLs, in as many requests as the controller's limits need. An ACL that exists stays as it is.

        DENYs are added before ALLOWs, prefixes before single names.

        :param before_each: called right before each request; an error that it raises stops the change
        """
        added = closed_first(acls)
        for start in range(0, len(added), MOST_ACLS):
            if before_each is not None:
                before_each()
            bindings = list(map(binding_of, added[start : start + MOST_ACLS]))
            futures = self._session.admin.create_acls(bindings, request_timeout=self._session.request_seconds)
            self._session.results(futures, "add ACLs")
        if added:
            self._wait_until_known(added[-1], exists=True)

    def remove(self, acls: Iterable[Acl], *, before_each: Callable[[], object] | None = None) -> None:
        """Remove exactly these ACLs, in as many requests as the controller's limits need. A missing ACL is no error.

        ALLOWs are removed before DENYs.

        A filter that covers many ACLs may also remove one that was added after the ACLs were read. That ACL is added
        again at once.

        :param before_each: called right before each request; an error that it raises stops the change
        """
        removed = frozenset(acls)
        if not removed:
            return
        # Each of a few ACLs gets its own filter, without reading all ACLs first: applications may be waiting.
        present = self._present() if len(removed) > FEW_ACLS else frozenset()
        last: Acl | None = None
        for permission in (AclPermission.ALLOW, AclPermission.DENY):
            wanted = frozenset(acl for acl in removed if acl.permission is permission)
            seen = wanted & present
            last = self._remove(filters_for(seen, present), removed, len(present), before_each) or last
            # The broker that was asked may not know of these yet.
            unseen = {exactly(acl): 1 for acl in sorted(wanted - seen)}
            last = self._remove(unseen, removed, len(present - seen), before_each) or last
            present -= seen
        if last is not None:
            self._wait_until_known(last, exists=False)

    def _remove(
        self,
        filters: Mapping[AclFilter, int],
        removed: frozenset[Acl],
        present: int,
        before_each: Callable[[], object] | None,
    ) -> Acl | None:
        """Send filters in as many requests as they need, and return the last ACL of those that were there."""
        last: Acl | None = None
        for batch in requests_of(filters, present):
            if before_each is not None:
                before_each()
            futures = self._session.admin.delete_acls(
                list(map(_filter, batch)), request_timeout=self._session.request_seconds
            )
            results = self._session.results(futures, "remove ACLs")
            gone = [_acl(binding) for bindings in results.values() for binding in bindings]
            self.add(frozenset(gone) - removed)
            last = next((acl for acl in reversed(gone) if acl in removed), last)
        return last

    def _present(self) -> frozenset[Acl]:
        """Return every ACL; empty if the principal may not read them (then each ACL gets its own filter)."""
        try:
            return self.list()
        except NotAuthorized:
            return frozenset()

    def _wait_until_known(self, last: Acl, *, exists: bool) -> None:
        """Wait a moment until the broker that is asked knows of a change that the controller accepted.

        Brokers follow the controller's log, so one that knows of the last ACL of a change knows of all. A broker that
        takes longer is no error: callers that need the change prove it on every partition leader.
        """
        with suppress(NotAuthorized):
            wait_until(
                lambda: self._exists(last),
                lambda found: found is exists,
                clock=SystemClock(),
                seconds=_KNOWN_SECONDS,
                pause_seconds=_KNOWN_PAUSE_SECONDS,
            )

    def _exists(self, acl: Acl) -> bool:
        """Return whether the broker that is asked knows an ACL; there may be thousands of others.

        :raises NotAuthorized: it shows none, as the principal has no DESCRIBE on the cluster
        """
        future = self._session.admin.describe_acls(_filter(exactly(acl)), request_timeout=self._session.request_seconds)
        if self._session.wait([future], "read an ACL")[0]:
            return True
        self._require_describe()
        return False


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


def binding_of(acl: Acl) -> AclBinding:
    """Return an ACL as librdkafka's client takes it."""
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
