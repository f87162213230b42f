"""Find offsets by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import IsolationLevel

from kafka_dr.clusters.many_partitions import ManyPartitions, once_led
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition


class OffsetsByTime:
    """Finds offsets by time.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._many = ManyPartitions(session)

    def at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int | None]:
        """Return the first offset whose record has this timestamp or a later one; ``None`` if there is no such record.

        :param timestamp_ms: milliseconds since the epoch
        """
        return self.at_each(dict.fromkeys(partitions, timestamp_ms))

    def at_each(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return the same, with a timestamp for each partition.

        :raises StaleMetadata: a partition has no leader that answers
        """
        if not times:
            return {}
        # librdkafka reports a partition whose leader it lost without an error: as one that has no such record.
        isolation, doing = IsolationLevel.READ_UNCOMMITTED.value, "find offsets by time"
        found = once_led(lambda: self._many.offsets(times, isolation, doing))
        return {partition: offset if offset >= 0 else None for partition, offset in found.items()}
