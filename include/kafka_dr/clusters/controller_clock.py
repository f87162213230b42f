"""What time it is for a cluster: of its machines only the active controller shows its clock without a write."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka.protocol.admin import DescribeQuorumRequest

from kafka_dr.clusters.session import ClusterSession

#: The log of metadata, whose leader is the active controller.
_METADATA = "__cluster_metadata"


class ControllerClock:
    """Reads the clock of the active controller (KIP-836). The principal needs DESCRIBE on the cluster.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def now(self) -> datetime | None:
        """Return the present moment of the active controller, in UTC; ``None`` if it does not say it.

        A leader has caught up with itself at the moment in which it is asked.

        :raises KafkaDrError: the cluster refuses, or has no quorum of controllers
        """
        doing = "read the clock of the active controller"
        of_one = DescribeQuorumRequest.TopicData
        partition = of_one.PartitionData(partition_index=0)
        request = DescribeQuorumRequest(
            topics=[of_one(topic_name=_METADATA, partitions=[partition])], min_version=1, max_version=2
        )
        answer = self._session.request(request, doing)
        if error := self._session.error(answer.error_code, None, doing):
            raise error
        found = answer.topics[0].partitions[0]
        if error := self._session.error(found.error_code, None, doing):
            raise error
        stamps = [each.last_caught_up_timestamp for each in found.current_voters if each.replica_id == found.leader_id]
        return datetime.fromtimestamp(stamps[0] / 1000, UTC) if stamps and stamps[0] > 0 else None
