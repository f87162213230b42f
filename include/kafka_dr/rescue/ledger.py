"""What was published again: written to the same cluster, in the same transactions.

Topic ``_kafka_dr.rescued``, compacted. Key ``<group>/<run>/<topic>/<partition>``; value: up to which offset of the
old cluster records are done, and what became of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_dr.clusters import KafkaCluster, NotFound, OffsetRange, TopicPartition
from kafka_dr.codec import StoredDocument, stored
from kafka_dr.rescue import ledger_records

LEDGER_TOPIC = "_kafka_dr.rescued"
LEDGER = TopicPartition(LEDGER_TOPIC, 0)
LEDGER_CONFIG = {"cleanup.policy": "compact"}


@dataclass(frozen=True, slots=True)
class LedgerEntry(StoredDocument):
    """How many records of one partition are done.

    :param next_offset: of the old cluster: next to be published
    :param published: to the topic itself
    :param to_stranded_topic: to the topic of stranded records (:func:`~kafka_dr.rescue.routing.stranded_topic`)
    :param kept: records that stay only in the list
    :param erased: records whose content had been erased from the list before they were published
    """

    next_offset: int = field(default=0, metadata=stored("next"))
    published: int = 0
    to_stranded_topic: int = field(default=0, metadata=stored("aside"))
    kept: int = 0
    erased: int = 0

    @property
    def records(self) -> int:
        """How many records are done, whatever became of them."""
        return self.published + self.to_stranded_topic + self.kept + self.erased

    def encoded(self) -> bytes:
        """Return the record's value."""
        return ledger_records.encoded(self)

    @classmethod
    def decoded(cls, value: bytes) -> LedgerEntry:
        """Read a record's value.

        :raises NeedsPerson: it cannot be read
        """
        return ledger_records.decoded(cls, value, LEDGER_TOPIC)


def ledger_key(group: str, run: str, partition: TopicPartition) -> bytes:
    """Return the key of a partition's entry."""
    return f"{group}/{run}/{partition.topic}/{partition.partition}".encode()


def read_ledger(reader: KafkaCluster, group: str, run: str) -> dict[TopicPartition, LedgerEntry]:
    """Return the entries of a run.

    A publisher takes over the transactional id first, so that no open transaction can still change this.
    """
    try:
        start, end = reader.topics.log_starts([LEDGER])[LEDGER], reader.topics.last_stable_offsets([LEDGER])[LEDGER]
    except NotFound:
        return {}
    found = ledger_records.newest(reader, LEDGER, OffsetRange(start, max(start, end)), f"{group}/{run}/")
    return {partition: LedgerEntry.decoded(value) for partition, value in found}
