"""What a cluster could still take: its brokers, their racks and disks, and the replicas of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.metadata import MetadataRequest

from kafka_dr.clusters.session import ClusterSession
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition

#: How many brokers are asked at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class BrokerCapacity:
    """One broker.

    :param rack: empty if it has none
    :param total_bytes: of the volumes that hold its logs; ``None`` if the broker does not say (before Kafka 3.3)
    :param usable_bytes: what is free there; ``None`` likewise
    """

    broker: int
    rack: str
    total_bytes: int | None
    usable_bytes: int | None


@dataclass(frozen=True, slots=True)
class PartitionReplicas:
    """The replicas of a partition, and how many of them are in sync."""

    replicas: int
    in_sync: int


class Capacity:
    """Reads what a cluster could still take. The principal needs DESCRIBE on the cluster for the disks.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def brokers(self) -> tuple[BrokerCapacity, ...]:
        """Return every broker that is up (KIP-827 for the disks).

        :raises ClusterError: a broker refused
        """
        racks = self._racks()
        disks = ask_all(self._disks, sorted(racks), at_most=_AT_ONCE)
        return tuple(BrokerCapacity(broker, rack, *disks[broker]) for broker, rack in sorted(racks.items()))

    def replicas(self, topics: Iterable[str]) -> dict[TopicPartition, PartitionReplicas]:
        """Return the replicas of each partition, without partitions that may not be seen. One request."""
        wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(set(topics))]
        if not wanted:
            return {}
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False, min_version=4, max_version=12)
        found = self._session.request(request, "look up the replicas of topics").topics
        return {
            TopicPartition(topic.name, row.partition_index): PartitionReplicas(
                len(row.replica_nodes), len(row.isr_nodes)
            )
            for topic in found
            for row in topic.partitions
        }

    def hosted(self) -> dict[int, int]:
        """Return how many replicas of partitions each broker holds, of all topics that may be seen. One request."""
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False, min_version=4, max_version=12)
        found = self._session.request(request, "count the partitions of each broker")
        counted = dict.fromkeys((row.node_id for row in found.brokers), 0)
        for node in (node for topic in found.topics for row in topic.partitions for node in row.replica_nodes):
            counted[node] = counted.get(node, 0) + 1
        return counted

    def _racks(self) -> Mapping[int, str]:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False, min_version=4, max_version=12)
        found = self._session.request(request, "look up the brokers").brokers
        return {row.node_id: row.rack or "" for row in found}

    def _disks(self, broker: int) -> tuple[int | None, int | None]:
        """Return the total and the usable bytes of a broker's log folders."""
        doing = f"read the free space of broker {broker}"
        # No topic: only the folders are asked for.
        answer = self._session.request(DescribeLogDirsRequest(topics=[]), doing, broker=broker)
        for code in (answer.error_code or 0, *(folder.error_code for folder in answer.results)):
            if (error := self._session.error(code, None, doing)) is not None:
                raise error
        sizes = [(folder.total_bytes, folder.usable_bytes) for folder in answer.results]
        if not sizes or any(total is None or total < 0 for total, _ in sizes):
            return None, None
        # Folders on one volume name the same volume; a sum would count it several times.
        volumes = set(sizes)
        return sum(total for total, _ in volumes), sum(usable for _, usable in volumes)
