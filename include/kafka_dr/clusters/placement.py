"""Where the replicas, the leaders and the controllers of a cluster are, as its metadata says. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    ListPartitionReassignmentsRequest,
)

from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError
from kafka_dr.positions import TopicPartition

#: What one answer may hold, as brokers limit it themselves (``max.request.partition.size.limit``).
_PARTITIONS_EACH = 2000
_MOST_PAGES = 1000
_METADATA_LOG = "__cluster_metadata"
_BROKERS = 1  # the protocol's number for the endpoints that are described


@dataclass(frozen=True, slots=True)
class RackedBroker:
    """A registered broker.

    :param rack: empty if it has none
    :param up: whether the controller counts it; one that is down keeps its rack
    """

    broker: int
    rack: str
    up: bool


@dataclass(frozen=True, slots=True)
class PlacedPartition:
    """The replicas of a partition, by the numbers of their brokers.

    :param leader: ``None`` if it has none now
    :param replicas: in the order in which they are preferred as leaders
    :param eligible: replicas that left the in-sync ones below ``min.insync.replicas`` and may still lead (KIP-966)
    """

    partition: TopicPartition
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    eligible: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QuorumVoter:
    """A controller that votes.

    :param late_ms: how long before the leader it was last known to have the whole metadata log; ``None``: never
    """

    node: int
    late_ms: int | None


class Placement:
    """Reads the placement, for which the principal needs DESCRIBE on the cluster and on the topics.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def brokers(self) -> tuple[str, tuple[RackedBroker, ...]]:
        """Return the id of the cluster and every registered broker, also those that are down (KIP-1073).

        Brokers before Kafka 4.0 name only those that are up.
        """
        doing = "look up the brokers"
        request = DescribeClusterRequest(endpoint_type=_BROKERS, include_fenced_brokers=True, min_version=1)
        found = self._session.request(request, doing)
        self._refuse(found, doing)
        brokers = (RackedBroker(row.broker_id, row.rack or "", not row.is_fenced) for row in found.brokers)
        return found.cluster_id, tuple(sorted(brokers, key=lambda each: each.broker))

    def partitions(self, wanted: Callable[[str], bool]) -> tuple[PlacedPartition, ...]:
        """Return every partition of topics that the principal may see, with its eligible leader replicas (KIP-966).

        :param wanted: whether a topic is wanted, by its name
        """
        doing, each = "look up the replicas of all topics", DescribeTopicPartitionsRequest
        found: dict[TopicPartition, PlacedPartition] = {}
        cursor = None
        for _page in range(_MOST_PAGES):
            request = each(topics=[], response_partition_limit=_PARTITIONS_EACH, cursor=cursor)
            answer = self._session.request(request, doing)
            for topic in (topic for topic in answer.topics if wanted(topic.name)):
                if (error := self._session.error(topic.error_code, None, doing)) is not None:
                    raise error
                for row in topic.partitions:
                    partition = TopicPartition(topic.name, row.partition_index)
                    leader = row.leader_id if row.leader_id >= 0 else None
                    eligible = tuple(row.eligible_leader_replicas or ())
                    replicas, in_sync = tuple(row.replica_nodes), tuple(row.isr_nodes)
                    found[partition] = PlacedPartition(partition, leader, replicas, in_sync, eligible)
            if answer.next_cursor is None:
                return tuple(found[partition] for partition in sorted(found))
            after = answer.next_cursor
            cursor = each.Cursor(topic_name=after.topic_name, partition_index=after.partition_index)
        raise KafkaDrError(f"{self._session.label}: could not {doing}: there are too many")

    def voters(self) -> tuple[QuorumVoter, ...]:
        """Return the controllers that vote (KIP-836)."""
        doing = "look at the metadata quorum"
        log = DescribeQuorumRequest.TopicData
        wanted = [log(topic_name=_METADATA_LOG, partitions=[log.PartitionData(partition_index=0)])]
        answer = self._session.request(DescribeQuorumRequest(topics=wanted), doing)
        self._refuse(answer, doing)
        quorum = answer.topics[0].partitions[0]
        self._refuse(quorum, doing)
        caught_up = {row.replica_id: row.last_caught_up_timestamp for row in quorum.current_voters}
        # The leader is always up to date; its own time is what the others are compared with.
        now = caught_up.get(quorum.leader_id, max(caught_up.values(), default=-1))
        return tuple(QuorumVoter(node, max(0, now - at) if at >= 0 else None) for node, at in sorted(caught_up.items()))

    def being_moved(self) -> frozenset[TopicPartition]:
        """Return the partitions whose replicas are being reassigned now."""
        doing = "look for reassignments"
        answer = self._session.request(ListPartitionReassignmentsRequest(topics=None), doing)
        self._refuse(answer, doing)
        return frozenset(
            TopicPartition(topic.name, row.partition_index) for topic in answer.topics for row in topic.partitions
        )

    def _refuse(self, answer: Any, doing: str) -> None:
        if (error := self._session.error(answer.error_code, answer.error_message, doing)) is not None:
            raise error
