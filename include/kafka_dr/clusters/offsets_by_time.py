"""Where the logs of a cluster ended at a moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import OffsetSpec

from kafka_dr.clusters.cluster import KafkaCluster
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition


class OffsetsByTime:
    """Finds offsets by time.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    @classmethod
    def of(cls, cluster: KafkaCluster) -> OffsetsByTime:
        """Ask a cluster that is already reached."""
        return cls(cluster._session)

    def offsets_at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int | None]:
        """Return the first offset whose record was made at this time or later; ``None`` where there is no such record.

        :param timestamp_ms: milliseconds since the epoch
        """
        return self.offsets_at_each(dict.fromkeys(partitions, timestamp_ms))

    def offsets_at_each(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return the same for a time of each partition's own."""
        asked = {ClientPartition(p.topic, p.partition): OffsetSpec.for_timestamp(ms) for p, ms in times.items()}
        if not asked:
            return {}
        doing = "look for offsets by time"
        admin = self._session.admin_for_leaders(doing)
        futures = admin.list_offsets(asked, request_timeout=self._session.request_seconds)
        found = self._session.results(futures, doing)
        return {
            TopicPartition(p.topic, p.partition): answer.offset if answer.offset >= 0 else None
            for p, answer in found.items()
        }
