"""A topic in which Connect stores something by key: its newest values, read in whole once and then only what is new.

Connect never waits for compaction, so such a topic may hold many old values of each key. Who asks again and again
must not read them again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """What was read of a topic, for a reader that continues later.

    :param topic_id: of the topic; one that was created again is read from its start
    :param next_to_read: by partition
    :param newest: the newest value of each key, the oldest record first
    """

    topic_id: str = ""
    next_to_read: Mapping[TopicPartition, int] = field(default_factory=dict)
    newest: Mapping[bytes, bytes] = field(default_factory=dict)


class ConnectTopic:
    """The newest value of each key of one topic.

    :param cluster: reached as somebody who may read the topic
    :param topic: its name
    :param keep: which keys are wanted
    :param stall_seconds: how long the topic may give no record while there are more of them
    :param known: what a reader with the same ``keep`` has read
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        topic: str,
        *,
        keep: Callable[[bytes], bool],
        stall_seconds: float,
        known: ReadSoFar | None = None,
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._keep = keep
        self._stall_seconds = stall_seconds
        known = known or ReadSoFar()
        self._topic_id = known.topic_id
        self._next = dict(known.next_to_read)
        self._newest = dict(known.newest)

    @property
    def so_far(self) -> ReadSoFar:
        """Return what was read until now."""
        return ReadSoFar(self._topic_id, dict(self._next), dict(self._newest))

    def newest(self) -> Mapping[bytes, bytes]:
        """Return the newest committed values, without the keys whose newest record deletes them.

        :raises NotFound: there is no such topic
        :raises NotAuthorized: the principal may not read it
        """
        unread = self._unread()
        for record in self._cluster.log.read(unread, stall_seconds=self._stall_seconds):
            if record.key is None or not self._keep(record.key):
                continue
            self._newest.pop(record.key, None)  # so that the order is that of the newest records
            if record.value is not None:
                self._newest[record.key] = record.value
        # Only now: a read that failed half way is done again from its start.
        self._next = {partition: wanted.end for partition, wanted in unread.items()}
        return dict(self._newest)

    def _unread(self) -> dict[TopicPartition, OffsetRange]:
        described = self._cluster.topics.describe([self._topic])[self._topic]
        topics, partitions = self._cluster.topics, described.partitions
        starts, ends = topics.log_starts(partitions), topics.last_stable_offsets(partitions)
        # A topic that was created again, or that lost its end, may hold other records at the same offsets.
        if described.topic_id != self._topic_id or any(ends.get(p, 0) < after for p, after in self._next.items()):
            self._topic_id, self._next, self._newest = described.topic_id, {}, {}
        first = {p: max(starts[p], self._next.get(p, 0)) for p in partitions}
        return {p: OffsetRange(first[p], max(first[p], ends[p])) for p in partitions}
