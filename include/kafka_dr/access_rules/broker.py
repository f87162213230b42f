"""Access rules that are kept on the brokers: their ACLs are changed directly."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.clusters import Acl, KafkaCluster


class BrokerRules:
    """The ACLs of a cluster.

    :param cluster: reached as the operator, which needs ALTER on the cluster
    """

    is_direct = True

    def __init__(self, cluster: KafkaCluster) -> None:
        self._acls = cluster.acls
        self.cluster = cluster.name

    def list(self) -> frozenset[Acl]:
        """Return every ACL of the cluster."""
        return self._acls.list()

    def leaving(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return none: what a broker has, it keeps."""
        return frozenset()

    def coming(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return none: what comes is there."""
        return frozenset()

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Add ACLs; see :meth:`kafka_dr.clusters.acls.Acls.add`."""
        self._acls.add(acls, before_each=before_each)

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        """Remove ACLs; see :meth:`kafka_dr.clusters.acls.Acls.remove`."""
        self._acls.remove(acls, before_each=before_each)
