"""A Kafka cluster, as one principal may see and use it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import TracebackType

from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.acls_of_brokers import AclsOfBrokers
from kafka_dr.clusters.batches import Batches
from kafka_dr.clusters.brokers import BrokerSettings, LogSizes
from kafka_dr.clusters.capacity import Capacity
from kafka_dr.clusters.configs import Configs
from kafka_dr.clusters.controller_clock import ControllerClock
from kafka_dr.clusters.group_coordinators import GroupCoordinators
from kafka_dr.clusters.group_kinds import GroupKinds
from kafka_dr.clusters.group_reading import GroupReading
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.held_back import HeldBackRecords
from kafka_dr.clusters.log import Log
from kafka_dr.clusters.offsets_by_time import OffsetsByTime
from kafka_dr.clusters.placement import Placement
from kafka_dr.clusters.read_permission import ReadPermission
from kafka_dr.clusters.remembered_topics import RememberedTopics
from kafka_dr.clusters.replica_moves import ReplicaMoves
from kafka_dr.clusters.session import COORDINATORS, REQUEST_SECONDS, ClusterSession
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.clusters.streams_groups import StreamsGroups
from kafka_dr.clusters.topics import Topics
from kafka_dr.clusters.transactions import Transactions
from kafka_dr.clusters.users import Quotas, ScramUsers
from kafka_dr.clusters.write_delay import WriteDelay
from kafka_dr.clusters.write_permission import WritePermission
from kafka_dr.clusters.writing import Writing


class KafkaCluster:
    """Everything that can be asked of a cluster or changed on it, one attribute for each subject.

    Every call has a deadline and raises only errors of :mod:`kafka_dr.clusters.errors` and
    :mod:`kafka_dr.errors`. Clients are created at their first use and closed with the cluster.

    :param name: the cluster's name in the topology, for messages
    :param settings: how to reach it, and as which principal
    :param request_seconds: the deadline of one request
    :param topics: looks up topics instead of this principal; saves a login if another principal is logged in already
    :param known_topic: a topic that the principal may DESCRIBE; see :class:`ClusterSession`
    """

    def __init__(
        self,
        name: str,
        settings: ClientSettings,
        *,
        request_seconds: float = REQUEST_SECONDS,
        topics: Topics | None = None,
        known_topic: str = COORDINATORS,
    ) -> None:
        self.name = name
        self.settings = settings
        self._session = ClusterSession(name, settings, request_seconds=request_seconds, known_topic=known_topic)
        self.topics = topics or Topics(self._session)
        self.offsets_by_time = OffsetsByTime(self._session)
        self.log = Log(self._session)
        self.held_back = HeldBackRecords(self._session, self.topics)
        self.writing = Writing(self._session)
        self.write_permission = WritePermission(self._session)
        self.transactions = Transactions(self._session)
        self.groups = Groups(self._session)
        self.group_reading = GroupReading(self._session)
        self.group_kinds = GroupKinds(self._session)
        self.group_coordinators = GroupCoordinators(self._session)
        self.read_permission = ReadPermission(self._session)
        self.streams_groups = StreamsGroups(self._session)
        self.acls = Acls(self._session)
        self.acls_of_brokers = AclsOfBrokers(self._session)
        self.configs = Configs(self._session)
        self.quotas = Quotas(self._session)
        self.scram_users = ScramUsers(self._session)
        self.broker_settings = BrokerSettings(self._session)
        self.log_sizes = LogSizes(self._session)
        self.batches = Batches(self._session)
        self.capacity = Capacity(self._session)
        self.controller_clock = ControllerClock(self._session)
        self.placement = Placement(self._session)
        self.replica_moves = ReplicaMoves(self._session)
        self.write_delay = WriteDelay(self._session)

    def remembering_topics(self) -> KafkaCluster:
        """Return this cluster as one piece of work looks at it several times: see :class:`RememberedTopics`.

        It uses the same connections, and is not closed.
        """
        seen = copy(self)
        seen.topics = RememberedTopics(self.topics)
        return seen

    def connect_by(self, topic: str) -> None:
        """Connect clients from now on by looking up this topic, which the principal may DESCRIBE; see ``known_topic``.

        For who may see no topic of Kafka's own: a lookup that is denied is written to the log of the brokers.
        """
        self._session.known_topic = topic

    def connect_ahead(self) -> None:
        """Begin to connect, so that the first request for offsets, read of committed records and write start sooner."""
        self._session.connect_ahead("read_committed")

    def connect_reader(self) -> None:
        """Begin to connect, so that the first read of committed records starts sooner."""
        self._session.connect_reader("read_committed")

    def refuse_mistake(self) -> None:
        """Ask the brokers, with connections of its own, whether they accept what this principal connects with.

        :raises ConnectionMistake: they do not: nothing that this principal asks can be answered
        """
        self._session.contact.refuse_mistake()

    def unusable_addresses(self, cluster_id: str) -> dict[str, str]:
        """Return every address of the connection and of the brokers, each with what keeps this principal from it.

        :param cluster_id: of the cluster that all of them have to lead to
        :returns: a sentence by ``host:port``; empty for an address that can be used
        """
        return self._session.contact.unusable(cluster_id)

    def observe(self, observer: Callable[[str], None]) -> None:
        """Call the observer before each request that is waited for."""
        self._session.observer = observer

    def close(self) -> None:
        """Close every connection."""
        self._session.close()

    def __enter__(self) -> KafkaCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
