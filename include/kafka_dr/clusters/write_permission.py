"""Ask partition leaders whether a principal may write, without writing anything.

The test write is one record batch of 69 bytes, in one request for all partitions of a leader. It is invalid twice: its
CRC is wrong, and its record claims minus one headers. Brokers ask the authorizer before they check the CRC, so the
answer is TOPIC_AUTHORIZATION_FAILED or CORRUPT_MESSAGE, and nothing is appended or logged (verified on Kafka 3.9.1 and
4.3.1, which count it as ``InvalidMessageCrcRecordsPerSec``). A proxy that corrects the CRC does not turn the batch
into a valid record: brokers then refuse the headers.

A leader that gives another answer is asked again with a record that is too large for the topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any

from confluent_kafka import KafkaError
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from kafka_dr.clusters.errors import NotFound, error_class, in_words
from kafka_dr.clusters.large_record import LargeRecord
from kafka_dr.clusters.model import WriteAnswer, WriteVerdict
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.topics import Topics
from kafka_dr.errors import ConnectionMistake, KafkaDrError, TryAgain
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition

#: From version 13 on the request names topics by their ids, which the principal would have to look up.
_BY_NAME = 12
_ALL_REPLICAS = -1
_MINUS_ONE = b"\x01"  # as a zigzag varint
_CORRUPT_MESSAGE = 2
_TAKEN = "it would accept a write"

_SILENT = "no leader was found, or the leader changed, or it gave no answer before the deadline"
_VERDICTS: dict[int, WriteVerdict] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "refused",
    _CORRUPT_MESSAGE: "allowed",
    # The broker counts in-sync replicas only after the authorizer allowed the write.
    KafkaError.NOT_ENOUGH_REPLICAS: "unable",
}


class WritePermission:
    """Asks partition leaders whether they would accept a write by the session's principal."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._large = LargeRecord(session)

    def connect_ahead(self) -> None:
        """Begin to connect to the brokers, in the background."""

        def connect() -> None:
            # The first request raises the error.
            with suppress(KafkaDrError):
                self._session.python_admin.connect_to_brokers()

        Thread(target=connect, name=f"connect to {self._session.label}", daemon=True).start()

    def ask(
        self,
        partitions: Iterable[TopicPartition],
        *,
        seen_by: Topics | None = None,
        led: Mapping[TopicPartition, int] | None = None,
    ) -> tuple[WriteAnswer, ...]:
        """Ask the leader of every partition whether this principal may write to it. Nothing is appended.

        :param seen_by: looks up leaders and topic limits; ``None``: this principal itself
        :param led: the leaders as they were looked up right before; ``None``: they are looked up
        :returns: one answer per partition; ``unknown`` if the leader changed meanwhile or gave no clear answer
        """
        wanted = sorted(set(partitions))
        look = seen_by or Topics(self._session)
        topics = {p.topic for p in wanted}
        leaders = look.leaders(topics) if led is None else led
        answers = self._ask_each({p: leaders[p] for p in wanted if leaders.get(p, -1) >= 0})
        if unclear := [p for p, answer in answers.items() if answer is None]:
            configs = look.configs({p.topic for p in unclear})
            answers |= self._large.ask({p: leaders[p] for p in unclear}, configs)
        now = look.leaders(topics) if answers else {}
        # A broker that is not the leader also refuses a denied principal. Such an answer proves nothing.
        proven = {p: answer for p, answer in answers.items() if answer is not None and leaders[p] == now.get(p)}
        return tuple(proven.get(p) or WriteAnswer(p, "unknown", _SILENT) for p in wanted)

    def _ask_each(self, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, WriteAnswer | None]:
        """Ask all leaders at the same time; ``None`` where the answer is neither a refusal nor a permission."""
        led: dict[int, list[TopicPartition]] = {}
        for partition, leader in leaders.items():
            led.setdefault(leader, []).append(partition)
        found = ask_all(lambda leader: self._ask_leader(leader, led[leader]), led)
        return {p: answer for answers in found.values() for p, answer in answers.items()}

    def _ask_leader(
        self, leader: int, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, WriteAnswer | None]:
        timeout = int(self._session.request_seconds * 1000)
        try:
            response = self._session.request(_request(partitions, timeout), "ask for a write", broker=leader)
        except TryAgain as error:
            return {p: WriteAnswer(p, "unknown", str(error)) for p in partitions}
        except ConnectionMistake:
            raise
        except KafkaDrError:
            # This broker does not accept such a request at all.
            return dict.fromkeys(partitions)
        return {
            partition: _answer(partition, row.error_code)
            for topic in response.responses
            for row in topic.partition_responses
            for partition in (TopicPartition(topic.name, row.index),)
        }


def _request(partitions: Iterable[TopicPartition], timeout_ms: int) -> Any:
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    of_topic = ProduceRequest.TopicProduceData
    of_partition = of_topic.PartitionProduceData
    rows = [
        of_topic(name=name, partition_data=[of_partition(index=number, records=invalid_batch()) for number in numbers])
        for name, numbers in by_topic.items()
    ]
    return ProduceRequest(
        transactional_id=None, acks=_ALL_REPLICAS, timeout_ms=timeout_ms, topic_data=rows, max_version=_BY_NAME
    )


@lru_cache(maxsize=1)
def invalid_batch() -> bytes:
    """Return a batch that no broker appends: one record of one byte, changed after its CRC was computed."""
    batch = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1024,
    )
    batch.append(0, timestamp=0, key=None, value=b"?", headers=[])
    # The last byte is the number of headers.
    return bytes(batch.build())[:-1] + _MINUS_ONE


def _answer(partition: TopicPartition, code: int) -> WriteAnswer | None:
    """Return what a leader's error code means; ``None`` if it is neither a refusal nor a permission."""
    if code == KafkaError.NO_ERROR:
        return WriteAnswer(partition, "allowed", "the leader accepted an invalid record, which no broker should do")
    name = _TAKEN if code == _CORRUPT_MESSAGE else in_words(code)
    if code in _VERDICTS:
        return WriteAnswer(partition, _VERDICTS[code], name)
    if issubclass(error_class(code), TryAgain | NotFound):
        # It is not the leader any more, or not yet: the next try asks the new leader.
        return WriteAnswer(partition, "unknown", name)
    return None
