"""A Kafka cluster as one principal sees it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.asking import Asking
from kafka_dr.clusters.configs import Configs
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.log import Log
from kafka_dr.clusters.metadata import Topics
from kafka_dr.clusters.quotas import Quotas
from kafka_dr.clusters.scram import ScramUsers
from kafka_dr.clusters.session import REQUEST_SECONDS, ClusterSession
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.clusters.sizes import Sizes
from kafka_dr.clusters.transactions import Transactions
from kafka_dr.clusters.writing import Writing


class KafkaCluster:
    """Everything that can be asked of a cluster, or done to it, sorted by what it is about.

    Every call has a deadline and raises only errors of :mod:`kafka_dr.clusters.errors` and
    :mod:`kafka_dr.errors`. Clients are opened when first needed and closed with the cluster.

    :param name: the cluster's name in the topology, for sentences
    :param settings: how to reach it, and as which principal
    :param request_seconds: the deadline of one request
    :param topics: looks topics up in place of this principal, which saves a login where somebody is logged in already
    """

    def __init__(
        self,
        name: str,
        settings: ClientSettings,
        *,
        request_seconds: float = REQUEST_SECONDS,
        topics: Topics | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self._session = ClusterSession(name, settings, request_seconds=request_seconds)
        self.topics = topics or Topics(self._session)
        self.acls = Acls(self._session)
        self.configs = Configs(self._session)
        self.quotas = Quotas(self._session)
        self.scram = ScramUsers(self._session)
        self.groups = Groups(self._session)
        self.sizes = Sizes(self._session)
        self.transactions = Transactions(self._session)
        self.log = Log(self._session)
        self.writing = Writing(self._session)
        self.asking = Asking(self._session)

    def connect_ahead(self) -> None:
        """Begin to connect, for somebody who is going to ask for offsets, read committed records and write at once."""
        self._session.connect_ahead("read_committed")

    def connect_reader(self) -> None:
        """Begin to connect, for somebody who is going to read committed records."""
        self._session.connect_reader("read_committed")

    def observe(self, observer: Callable[[str], None]) -> None:
        """Have somebody told of each request that is waited for, before it is."""
        self._session.observer = observer

    def close(self) -> None:
        """Let go of every connection."""
        self._session.close()

    def __enter__(self) -> KafkaCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
