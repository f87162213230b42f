"""The codec of the newest batches of logs, from the batches' headers: no record is read or decompressed."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from typing import Any, Literal

from kafka.protocol.consumer import FetchRequest

from kafka_dr.clusters.session import ClusterSession
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition

#: What a producer calls its ``compression.type``.
Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
_CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
#: Of a batch of format 2: its first offset and its length, then epoch, format and checksum, then its attributes.
_HEADER = struct.Struct(">qiibIh")
_FORMAT, _CODEC_BITS, _CONTROL = 2, 0x07, 0x20
#: Brokers return the first batch of an answer whole, and of other partitions only batches up to this size. Most are:
#: it is twice the default ``batch.size``.
_BYTES = 32 * 1024
#: How often a broker is asked for what it did not return.
_TURNS = 10
#: How many batches of a partition are looked at, from its end: the last ones may only end transactions.
_TRIES = 3


class Batches:
    """Looks at the headers of batches, for which the principal needs READ on the topics.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def newest_codecs(
        self, ends: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Codec]:
        """Return the codec of the newest batch of each partition; one that shows no batch of records is left out.

        :param ends: high watermarks
        :param leaders: the number of each partition's broker
        :raises KafkaDrError: no broker could be asked
        """
        found: dict[TopicPartition, Codec] = {}
        wanted = {p: end - 1 for p, end in ends.items() if end > 0 and p in leaders}
        for _ in range(_TRIES):
            headers = self._headers(wanted, leaders)
            wanted = {}
            for p, (first, attributes) in headers.items():
                if not attributes & _CONTROL and attributes & _CODEC_BITS < len(_CODECS):
                    found[p] = _CODECS[attributes & _CODEC_BITS]
                elif first > 0:
                    wanted[p] = first - 1
        return found

    def _headers(
        self, at: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, tuple[int, int]]:
        by_leader: dict[int, list[TopicPartition]] = {}
        for p in at:
            by_leader.setdefault(leaders[p], []).append(p)
        answers = ask_all(lambda broker: self._of(broker, by_leader[broker], at), by_leader)
        return {p: seen for each in answers.values() for p, seen in each.items()}

    def _of(
        self, broker: int, partitions: Collection[TopicPartition], at: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Return, by partition, the first offset and the attributes of the batch that holds an offset."""
        found: dict[TopicPartition, tuple[int, int]] = {}
        left = list(partitions)
        for _ in range(_TURNS):
            answered = self._ask(broker, left, at)
            found |= answered
            left = [p for p in left if p not in answered]
            if not left or not answered:
                break
        return found

    def _ask(
        self, broker: int, partitions: Collection[TopicPartition], at: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, tuple[int, int]]:
        of_topic = FetchRequest.FetchTopic
        topics: dict[str, list[Any]] = {}
        for p in partitions:
            row = of_topic.FetchPartition(partition=p.partition, fetch_offset=at[p], partition_max_bytes=_BYTES)
            topics.setdefault(p.topic, []).append(row)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            # The batch that comes whole may be large, and must leave room for the others.
            max_bytes=2**31 - 1,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[of_topic(topic=name, partitions=rows) for name, rows in topics.items()],
            forgotten_topics_data=[],
            rack_id="",
            min_version=11,
            max_version=11,
        )
        answer = self._session.request(request, "look at the newest batches", broker=broker)
        found = {}
        for topic in answer.responses:
            for row in topic.partitions:
                records = bytes(row.records or b"")
                if not row.error_code and len(records) >= _HEADER.size:
                    first, _, _, magic, _, attributes = _HEADER.unpack_from(records)
                    if magic == _FORMAT:
                        found[TopicPartition(topic.topic, row.partition_index)] = first, attributes
        return found
