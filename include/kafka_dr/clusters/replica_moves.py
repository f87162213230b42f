"""Moves the replicas and the leaders of partitions, as Kafka's own tools do with the files that they read."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ElectLeadersRequest

from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition

_PREFERRED, _NOT_NEEDED = 0, 84
_WAIT_MS = 10_000


class ReplicaMoves:
    """Changes the placement, for which the principal needs ALTER on the cluster.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def begin(self, partition: TopicPartition, replicas: Iterable[int]) -> None:
        """Begin to move a partition (KIP-455): new replicas copy its log, and only then the former ones are removed.

        :param replicas: by the numbers of their brokers, the preferred leader first
        :raises KafkaDrError: the controller refused it
        """
        doing, of = f"move {partition}", AlterPartitionReassignmentsRequest.ReassignableTopic
        row = of.ReassignablePartition(partition_index=partition.partition, replicas=[*replicas])
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=_WAIT_MS, topics=[of(name=partition.topic, partitions=[row])]
        )
        answer = self._session.request(request, doing)
        for each in (answer, *(found for topic in answer.responses for found in topic.partitions)):
            if (error := self._session.error(each.error_code, each.error_message, doing)) is not None:
                raise error

    def prefer(self, partitions: Iterable[TopicPartition]) -> None:
        """Let the preferred replicas lead (KIP-460); of those that lead already nothing is changed.

        :raises KafkaDrError: the controller refused one of them
        """
        doing, of = "elect the preferred leaders", ElectLeadersRequest.TopicPartitions
        by_topic = groupby(sorted(partitions), key=lambda each: each.topic)
        wanted = [of(topic=topic, partitions=[each.partition for each in found]) for topic, found in by_topic]
        if not wanted:
            return
        request = ElectLeadersRequest(election_type=_PREFERRED, topic_partitions=wanted, timeout_ms=_WAIT_MS)
        answer = self._session.request(request, doing)
        if (error := self._session.error(answer.error_code, None, doing)) is not None:
            raise error
        for topic in answer.replica_election_results:
            for row in topic.partition_result:
                code = 0 if row.error_code == _NOT_NEEDED else row.error_code
                if (error := self._session.error(code, row.error_message, f"{doing} of {topic.topic}")) is not None:
                    raise error
