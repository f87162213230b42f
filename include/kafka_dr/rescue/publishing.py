"""Publishing stranded records again: records and ledger in one transaction, so that none is published twice.

Whoever publishes writes as the probe: it may write what applications may, and every fence refuses it as it refuses
them, so nothing is ever published to a side that is not active.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.rescue.fitting import ROOM, USUAL_LIMIT, Limits, in_transactions, size_of
from kafka_dr.rescue.kept import KeptRecord, read_partition
from kafka_dr.rescue.ledger import LEDGER, LEDGER_CONFIG, LEDGER_TOPIC, Entry, ledger_key, read_ledger
from kafka_dr.rescue.routing import RUN_HEADER, Destination, KeysSince, destination, side_topic

_SIDE_CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1"}


@dataclass(frozen=True, slots=True)
class Rescued:
    """What became of the stranded records by now, earlier runs included.

    :param this_time: how many were published by this call
    """

    published: int
    aside: int
    kept: int
    this_time: int


@dataclass(frozen=True, slots=True)
class _Way:
    """What decides where the records of one topic may go."""

    topic: str
    keys: KeysSince
    limits: Limits


@dataclass(slots=True)
class Rescue:
    """One list, on its way to the active cluster.

    :param folder: where the list lies
    :param writer: the active cluster, reached as the probe
    :param reader: the same, reached as audit
    :param operator: the same, reached as the operator, who creates topics
    :param canary_topic: whose records are not published
    :param permission: asked before each transaction; raises unless it may be made
    """

    found: StrandedList
    folder: Any
    writer: KafkaCluster
    reader: KafkaCluster
    operator: KafkaCluster
    canary_topic: str
    replication_factor: int
    permission: Callable[[], None]

    def publish(self) -> Rescued:
        """Publish what was not published yet.

        :raises OutcomeUnknown: a commit was not answered; doing it again finds out, and goes on
        """
        wanted = [each for each in self.found.partitions if each.records]
        copies = max(1, min(self.replication_factor, len(self.operator.topics.identity().brokers)))
        self.operator.topics.create(LEDGER_TOPIC, partitions=1, replication_factor=copies, config=LEDGER_CONFIG)
        limits = self._prepare_side_topics(wanted, copies)
        done = 0
        # Taking the id over ends what an earlier attempt left open, so the ledger says all there is.
        taken = self.writer.writing.transactions(
            f"kafka-dr-rescue-{self.found.group}", largest=limits.largest, batch_bytes=limits.smallest
        )
        with taken as transactions:
            ledger = read_ledger(self.reader, self.found.group, self.found.run)
            for topic in sorted({each.topic for each in wanted}):
                way = _Way(topic, self._keys_of(topic), limits)
                for each in (each for each in wanted if each.topic == topic):
                    partition = TopicPartition(topic, each.partition)
                    for entry, count in self._publish(partition, ledger.get(partition, Entry()), way, transactions):
                        done += count
                        ledger[partition] = entry
        entries = [ledger.get(TopicPartition(each.topic, each.partition), Entry()) for each in wanted]
        return Rescued(
            published=sum(entry.published for entry in entries),
            aside=sum(entry.aside for entry in entries),
            kept=sum(entry.kept for entry in entries),
            this_time=done,
        )

    def _publish(
        self, partition: TopicPartition, entry: Entry, way: _Way, transactions: TransactionalWriter
    ) -> Iterator[tuple[Entry, int]]:
        records = read_partition(
            self.found,
            self.folder,
            topic=partition.topic,
            partition=partition.partition,
            from_offset=entry.next_offset,
        )
        for batch in in_transactions(records):
            since = way.keys.among({record.key for record in batch if record.key is not None})
            placed = [(record, self._destination(record, since, way)) for record in batch]
            counts = Counter(where for _, where in placed)
            entry = replace(
                entry,
                next_offset=batch[-1].offset + 1,
                published=entry.published + counts[Destination.TOPIC],
                aside=entry.aside + counts[Destination.SIDE_TOPIC],
                kept=entry.kept + counts[Destination.KEPT_ONLY],
            )
            line = NewRecord(LEDGER, ledger_key(self.found.group, self.found.run, partition), entry.to_json())
            self.permission()
            transactions.write([*self._again(placed), line])
            yield entry, counts[Destination.TOPIC] + counts[Destination.SIDE_TOPIC]

    def _destination(self, record: KeptRecord, written_since: Collection[bytes], way: _Way) -> Destination:
        size = size_of(record.key, record.value, (*record.headers, *self._provenance(record)))
        return destination(
            key=record.key,
            written_since=written_since,
            compacted=way.topic in self.found.compacted,
            canary=way.topic == self.canary_topic,
            exists=TopicPartition(way.topic, record.partition) in way.keys.starts,
            fits=way.limits.takes(way.topic, size),
            fits_beside=way.limits.takes(side_topic(way.topic), size),
        )

    def _again(self, placed: Iterable[tuple[KeptRecord, Destination]]) -> Iterator[NewRecord]:
        for record, where in placed:
            if where is Destination.KEPT_ONLY:
                continue
            topic = record.topic if where is Destination.TOPIC else side_topic(record.topic)
            yield NewRecord(
                TopicPartition(topic, record.partition),
                record.key,
                record.value,
                (*record.headers, *self._provenance(record)),
            )

    def _provenance(self, record: KeptRecord) -> tuple[tuple[str, bytes], ...]:
        said = {
            "kafka-dr-origin-cluster": self.found.old,
            "kafka-dr-origin-topic": record.topic,
            "kafka-dr-origin-partition": record.partition,
            "kafka-dr-origin-offset": record.offset,
            "kafka-dr-origin-timestamp": record.timestamp_ms,
            RUN_HEADER: self.found.run,
        }
        return tuple((name, str(value).encode()) for name, value in said.items())

    def _prepare_side_topics(self, wanted: Sequence[StrandedPartition], copies: int) -> Limits:
        """Create the topics beside those with stranded records: which will be needed shows only in mid-transaction.

        :returns: what all topics take that may be written to. One beside a topic takes what that takes, and more
        """
        topics = self.operator.topics
        names = {each.topic for each in wanted} - {self.canary_topic}
        limits = Limits.of(topics.configs(names & topics.names()))
        beside = {}
        for topic in sorted(names):
            partitions = 1 + max(each.partition for each in wanted if each.topic == topic)
            name, most = side_topic(topic), limits.by_topic.get(topic, USUAL_LIMIT) + ROOM
            config = {**_SIDE_CONFIG, "max.message.bytes": str(most)}
            # One that was made this moment may not be known to every broker yet, and is as it was asked for.
            if topics.create(name, partitions=partitions, replication_factor=copies, config=config):
                beside[name] = most
            elif len(topics.describe([name])[name].leaders) < partitions:
                topics.add_partitions(name, partitions)
        there = Limits.of(topics.configs({side_topic(topic) for topic in names} - beside.keys()))
        return Limits({**limits.by_topic, **beside, **there.by_topic})

    def _keys_of(self, topic: str) -> KeysSince:
        """Return who tells which keys were written since the switch, to any partition of a topic."""
        switched = {
            TopicPartition(each.topic, each.partition): each.new_end
            for each in self.found.partitions
            if each.topic == topic
        }
        there = self.operator.topics.describe({topic} & self.operator.topics.names())
        partitions = there[topic].partitions if topic in there else ()
        return KeysSince(self.reader, {p: switched.get(p, 0) for p in partitions}, self.found.run)
