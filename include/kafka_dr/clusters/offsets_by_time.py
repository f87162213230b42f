"""Find offsets by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import IsolationLevel
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import OffsetSpec

from kafka_dr.clusters.many_partitions import MANY, ManyPartitions, once_led
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition


class OffsetsByTime:
    """Finds offsets by time.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._many = ManyPartitions(session)

    def at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int | None]:
        """Return the first offset whose record has this timestamp or a later one; ``None`` if there is no such record.

        :param timestamp_ms: milliseconds since the epoch
        """
        return self.at_each(dict.fromkeys(partitions, timestamp_ms))

    def at_each(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return the same, with a timestamp for each partition."""
        if not times:
            return {}
        doing = "find offsets by time"
        if len(times) >= MANY:
            return {p: offset if offset >= 0 else None for p, offset in self._of_many(times, doing).items()}
        asked = {ClientPartition(p.topic, p.partition): OffsetSpec.for_timestamp(ms) for p, ms in times.items()}
        admin = self._session.admin_for_leaders(doing)
        futures = admin.list_offsets(asked, request_timeout=self._session.request_seconds)
        found = self._session.results(futures, doing)
        return {
            TopicPartition(p.topic, p.partition): answer.offset if answer.offset >= 0 else None
            for p, answer in found.items()
        }

    def _of_many(self, times: Mapping[TopicPartition, int], doing: str) -> dict[TopicPartition, int]:
        return once_led(lambda: self._many.offsets(times, IsolationLevel.READ_UNCOMMITTED.value, doing))
