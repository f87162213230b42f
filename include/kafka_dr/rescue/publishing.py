"""Publishes stranded records again: records and ledger in one transaction, so that none is published twice.

The probe writes them. It may write what applications may, and every fence refuses it as it refuses them. So nothing is
ever published to a cluster that is not active.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.codec import StoredDocument, stored
from kafka_dr.rescue.fitting import ROOM, USUAL_LIMIT, SizeLimits, in_transactions, size_of
from kafka_dr.rescue.kept import KeptRecord, read_partition
from kafka_dr.rescue.ledger import LEDGER, LEDGER_CONFIG, LEDGER_TOPIC, LedgerEntry, ledger_key, read_ledger
from kafka_dr.rescue.routing import RUN_HEADER, Destination, KeysSince, destination, stranded_topic

_STRANDED_CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1"}


@dataclass(frozen=True, slots=True)
class Rescued(StoredDocument):
    """What became of the stranded records so far, earlier runs included.

    :param to_stranded_topic: how many were published to topics ``<topic>.stranded``
    :param this_time: how many were published by this call
    :param erased: how many had lost their content before they could be published
    """

    published: int
    to_stranded_topic: int = field(metadata=stored("aside"))
    kept: int
    this_time: int
    erased: int = 0


@dataclass(frozen=True, slots=True)
class _TopicRules:
    """What decides where the records of one topic may be published."""

    topic: str
    keys: KeysSince
    limits: SizeLimits


@dataclass(slots=True)
class Rescue:
    """Publishes one list of stranded records to the active cluster.

    :param folder: the folder of the list
    :param writer: the active cluster, reached as the probe
    :param reader: the same, reached as audit
    :param operator: the same, reached as the operator, which creates topics
    :param canary_topic: whose records are not published
    :param permission: called before each transaction; raises an error if it must not be written
    :param keys: of the content, where the topology names any
    :param apart: whether all of them go to topics of stranded records, because the topics themselves hold others
    """

    found: StrandedList
    folder: Any
    writer: KafkaCluster
    reader: KafkaCluster
    operator: KafkaCluster
    canary_topic: str
    replication_factor: int
    permission: Callable[[], object]
    keys: ContentKeys | None = None
    apart: bool = False

    def publish(self) -> Rescued:
        """Publish what was not published yet.

        :raises OutcomeUnknown: a commit was not answered; publish again: that shows what was committed, and continues
        """
        wanted = [each for each in self.found.partitions if each.records]
        copies = max(1, min(self.replication_factor, len(self.operator.topics.identity().brokers)))
        self.operator.topics.create(LEDGER_TOPIC, partitions=1, replication_factor=copies, config=LEDGER_CONFIG)
        limits = self._prepare_stranded_topics(wanted, copies)
        done = 0
        # Taking over the id ends the open transaction of an earlier attempt, so the ledger is complete.
        taken = self.writer.writing.transactions(
            f"kafka-dr-rescue-{self.found.group}",
            largest=limits.largest,
            batch_bytes=limits.smallest,
            known_topic=LEDGER_TOPIC,
        )
        with taken as transactions:
            ledger = read_ledger(self.reader, self.found.group, self.found.run)
            for topic in sorted({each.topic for each in wanted}):
                rules = _TopicRules(topic, self._keys_of(topic), limits)
                for each in (each for each in wanted if each.topic == topic):
                    partition = TopicPartition(topic, each.partition)
                    for entry, count in self._publish(
                        partition, ledger.get(partition, LedgerEntry()), rules, transactions
                    ):
                        done += count
                        ledger[partition] = entry
        entries = [ledger.get(TopicPartition(each.topic, each.partition), LedgerEntry()) for each in wanted]
        return Rescued(
            published=sum(entry.published for entry in entries),
            to_stranded_topic=sum(entry.to_stranded_topic for entry in entries),
            kept=sum(entry.kept for entry in entries),
            this_time=done,
            erased=sum(entry.erased for entry in entries),
        )

    def _publish(
        self, partition: TopicPartition, entry: LedgerEntry, rules: _TopicRules, transactions: TransactionalWriter
    ) -> Iterator[tuple[LedgerEntry, int]]:
        records = read_partition(
            self.found,
            self.folder,
            topic=partition.topic,
            partition=partition.partition,
            from_offset=entry.next_offset,
            keys=self.keys,
        )
        for batch in in_transactions(records):
            since = rules.keys.among({record.key for record in batch if record.key is not None})
            placed = [(record, self._destination(record, since, rules)) for record in batch]
            counts = Counter(where for _, where in placed)
            entry = replace(
                entry,
                next_offset=batch[-1].offset + 1,
                published=entry.published + counts[Destination.TOPIC],
                to_stranded_topic=entry.to_stranded_topic + counts[Destination.STRANDED_TOPIC],
                kept=entry.kept + counts[Destination.KEPT_ONLY],
                erased=entry.erased + counts[Destination.ERASED],
            )
            line = NewRecord(LEDGER, ledger_key(self.found.group, self.found.run, partition), entry.encoded())
            self.permission()
            transactions.write([*self._again(placed), line])
            yield entry, counts[Destination.TOPIC] + counts[Destination.STRANDED_TOPIC]

    def _destination(self, record: KeptRecord, written_since: Collection[bytes], rules: _TopicRules) -> Destination:
        if record.erased:
            return Destination.ERASED
        size = size_of(record.key, record.value, (*record.headers, *self._provenance(record)))
        return destination(
            key=record.key,
            written_since=written_since,
            compacted=rules.topic in self.found.compacted,
            canary=rules.topic == self.canary_topic,
            exists=TopicPartition(rules.topic, record.partition) in rules.keys.starts,
            fits=rules.limits.takes(rules.topic, size),
            fits_stranded_topic=rules.limits.takes(stranded_topic(rules.topic), size),
        )

    def _again(self, placed: Iterable[tuple[KeptRecord, Destination]]) -> Iterator[NewRecord]:
        for record, where in placed:
            if where in (Destination.KEPT_ONLY, Destination.ERASED):
                continue
            topic = record.topic if where is Destination.TOPIC else stranded_topic(record.topic)
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

    def _prepare_stranded_topics(self, wanted: Sequence[StrandedPartition], copies: int) -> SizeLimits:
        """Create all topics of stranded records first: which are needed shows only during a transaction.

        :returns: the limits of all topics that may be written to. A topic of stranded records takes
            what its topic takes, and more
        """
        topics = self.operator.topics
        names = {each.topic for each in wanted} - {self.canary_topic}
        limits = SizeLimits.of(topics.configs(names & topics.names()))
        created = {}
        for topic in sorted(names):
            partitions = 1 + max(each.partition for each in wanted if each.topic == topic)
            name, most = stranded_topic(topic), limits.by_topic.get(topic, USUAL_LIMIT) + ROOM
            config = {**_STRANDED_CONFIG, "max.message.bytes": str(most)}
            # A topic that was just created may not be known to every broker yet, and has the config that was asked for.
            if topics.create(name, partitions=partitions, replication_factor=copies, config=config):
                created[name] = most
            elif len(topics.describe([name])[name].leaders) < partitions:
                topics.add_partitions(name, partitions)
        existing = SizeLimits.of(topics.configs({stranded_topic(topic) for topic in names} - created.keys()))
        return SizeLimits({**limits.by_topic, **created, **existing.by_topic})

    def _keys_of(self, topic: str) -> KeysSince:
        """Return what looks up which keys were written since the failover, to any partition of a topic."""
        new_ends = {
            TopicPartition(each.topic, each.partition): each.new_end
            for each in self.found.partitions
            if each.topic == topic
        }
        existing = {} if self.apart else self.operator.topics.existing([topic])
        partitions = existing[topic].partitions if topic in existing else ()
        return KeysSince(self.reader, {p: new_ends.get(p, 0) for p in partitions}, self.found.run)
