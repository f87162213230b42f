"""Many topics and the offsets of many partitions' logs, with few requests and little of the processor's time.

librdkafka's admin client makes an object with locks for each topic and each partition that is asked for. With 3,000 of
them that takes longer than all the brokers need to answer, and Python executes nothing else meanwhile. The requests of
the protocol, which kafka-python sends, name all topics, or all partitions of a leader, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from confluent_kafka import KafkaError
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.errors import NotFound, StaleMetadata
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition
from kafka_dr.waiting import wait_until

#: From so many topics or partitions on this way is the faster one.
MANY = 200
#: How long to wait until a new leader knows that it leads, in seconds.
_LEADS_SECONDS = 1.5
#: Leaders say which of them is the newer one from this version on (KIP-320); ListOffsets with their epoch, too.
_WITH_EPOCHS, _ASKED_WITH_EPOCHS = 7, 4

T = TypeVar("T")


def once_led(ask: Callable[[], T]) -> T:
    """Ask leaders, and again for a moment if one of them does not know yet that it leads, or that the topic exists."""
    retry = (StaleMetadata, NotFound)
    return wait_until(ask, lambda _: True, clock=SystemClock(), seconds=_LEADS_SECONDS, retry=retry)


@dataclass(frozen=True, slots=True)
class Leader:
    """The broker that leads a partition; its epoch keeps a broker from answering that does so no longer."""

    broker: int
    epoch: int


class ManyPartitions:
    """Asks the leaders of one cluster about many partitions.

    :param session: of one principal
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._leaders: dict[TopicPartition, Leader] = {}
        self._lock = Lock()

    def metadata(self, names: Collection[str], doing: str, *, since: int = 4) -> Any:
        """Return what any broker knows of topics, as rows of the protocol.

        :param doing: what is being done, as it continues "could not …"
        :param since: the oldest version of the answer that will do
        """
        wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(set(names))]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False, min_version=since, max_version=12)
        return self._session.request(request, doing).topics

    def offsets(self, times: Mapping[TopicPartition, int], isolation: int, doing: str) -> dict[TopicPartition, int]:
        """Return an offset of each partition.

        :param times: by partition: -1 for the end of the log, -2 for its start, else milliseconds since the epoch for
            the first record with that timestamp or a later one; its offset is below zero where there is none
        :param isolation: 0 for uncommitted records, 1 for committed ones
        :raises StaleMetadata: a partition has no leader, or another one than was known: the next call looks again
        """
        led: dict[int, list[tuple[TopicPartition, int, int]]] = {}
        for partition, leader in self.leaders_of(times, doing).items():
            led.setdefault(leader.broker, []).append((partition, leader.epoch, times[partition]))
        try:
            answers = ask_all(lambda broker: self._of_leader(broker, led[broker], isolation, doing), led)
        except KafkaDrError:
            with self._lock:
                self._leaders.clear()
            raise
        return {partition: offset for answer in answers.values() for partition, offset in answer.items()}

    def leaders_of(self, partitions: Collection[TopicPartition], doing: str) -> dict[TopicPartition, Leader]:
        """Return who leads each partition, as it is known or looked up.

        :raises StaleMetadata: one of them has no leader
        """
        with self._lock:
            known = {p: self._leaders[p] for p in partitions if p in self._leaders}
        if unknown := {p.topic for p in partitions if p not in known}:
            known |= self._look_up(unknown, doing)
        if missing := next((p for p in partitions if p not in known), None):
            raise StaleMetadata(f"{self._session.label}: could not {doing}: no leader is known of {missing}")
        return {p: known[p] for p in partitions}

    def _look_up(self, topics: Collection[str], doing: str) -> dict[TopicPartition, Leader]:
        found: dict[TopicPartition, Leader] = {}
        for topic in self.metadata(topics, doing, since=_WITH_EPOCHS):
            if topic.error_code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise self._session.error(topic.error_code, None, doing)  # type: ignore[misc]  # it is an error
            for row in topic.partitions:
                if row.leader_id >= 0:
                    leader = Leader(row.leader_id, row.leader_epoch)
                    found[TopicPartition(topic.name, row.partition_index)] = leader
        with self._lock:
            self._leaders |= found
        return found

    def _of_leader(
        self, broker: int, wanted: Collection[tuple[TopicPartition, int, int]], isolation: int, doing: str
    ) -> dict[TopicPartition, int]:
        of_topic = ListOffsetsRequest.ListOffsetsTopic
        rows: dict[str, list[Any]] = {}
        for partition, epoch, timestamp in wanted:
            row = of_topic.ListOffsetsPartition(
                partition_index=partition.partition, current_leader_epoch=epoch, timestamp=timestamp
            )
            rows.setdefault(partition.topic, []).append(row)
        topics = [of_topic(name=name, partitions=each) for name, each in rows.items()]
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=topics, min_version=_ASKED_WITH_EPOCHS, max_version=9
        )
        by_time = {partition for partition, _, timestamp in wanted if timestamp >= 0}
        found: dict[TopicPartition, int] = {}
        for topic in self._session.request(request, doing, broker=broker).topics:
            for row in topic.partitions:
                partition = TopicPartition(topic.name, row.partition_index)
                self._refuse_error(row, doing, may_be_none=partition in by_time)
                found[partition] = row.offset
        return found

    def _refuse_error(self, row: Any, doing: str, *, may_be_none: bool) -> None:
        error = self._session.error(row.error_code, None, doing)
        if isinstance(error, NotFound):
            # The broker does not know the topic yet, or does not know it any more: only describing it shows which.
            raise StaleMetadata(str(error))
        if error is not None:
            raise error
        if row.offset < 0 and not may_be_none:
            raise StaleMetadata(f"{self._session.label}: could not {doing}: a leader gave no offset")
