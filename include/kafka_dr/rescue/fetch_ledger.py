"""What was fetched from another standby: written to the target itself, in the transactions of the records.

Topic ``_kafka_dr.fetched``, compacted. Key ``<group>/<lost cluster>/<epoch of the target's flow>/<topic>/<partition>``;
value: up to which offset of the donor's log the records are on the target. So a batch that died, and is fetched again,
is never there twice. The entries say as well where the target's own copy ended: from then on its log holds more than
its flow has copied, and its end alone would no longer say how far the copy has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, NotFound, OffsetRange, TopicPartition
from kafka_dr.codec import StoredDocument, stored
from kafka_dr.errors import TryAgain
from kafka_dr.positions import SeedPoint
from kafka_dr.rescue import ledger_records
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

LEDGER_TOPIC = "_kafka_dr.fetched"
LEDGER = TopicPartition(LEDGER_TOPIC, 0)
LEDGER_CONFIG = {"cleanup.policy": "compact"}
#: How long transactions of other groups may be open, in seconds: twice their timeout.
_OTHERS_SECONDS = 20.0
#: How many ends of batches an entry keeps, so that it stays small.
_MOST_STEPS = 256


@dataclass(frozen=True, slots=True)
class FetchEntry(StoredDocument):
    """How far one partition is fetched.

    :param donor: the standby whose log it is
    :param next_offset: of the donor's log: next to be fetched
    :param position: in the lost cluster's log: next to copy for the target's own flow, which is fenced
    :param end: of the target's log, when the target held only what that flow had copied
    :param reached: in the lost cluster's log: how far the target's copy has come; ``None`` while records are left that
        the donor holds
    :param records: how many were fetched
    :param steps: where the donor's log and the target's correspond among what was fetched, next to read in each: some
        ends of batches, rising
    """

    donor: str
    next_offset: int = field(metadata=stored("next"))
    position: int
    end: int
    reached: int | None = None
    records: int = 0
    steps: tuple[SeedPoint, ...] = field(default=(), metadata=stored(omitted=True))

    @property
    def before(self) -> SeedPoint:
        """Where the lost cluster's log and the target's correspond: before anything was fetched."""
        return SeedPoint(self.position, self.end)

    def reached_at(self, next_offset: int, end: int) -> FetchEntry:
        """Return the same, with what was seen when a batch was written; of many every second one is kept.

        :param next_offset: of the donor's log: next after the batch
        :param end: of the target's log, then
        """
        steps = (*self.steps, SeedPoint(next_offset, end))
        return replace(self, steps=steps if len(steps) <= _MOST_STEPS else steps[::2])

    def encoded(self) -> bytes:
        """Return the record's value."""
        return ledger_records.encoded(self)

    @classmethod
    def decoded(cls, value: bytes) -> FetchEntry:
        """Read a record's value.

        :raises NeedsPerson: it cannot be read
        """
        return ledger_records.decoded(cls, value, LEDGER_TOPIC)


Ledger = Mapping[TopicPartition, FetchEntry]


@dataclass(frozen=True, slots=True)
class LedgerName:
    """Which entries are about one copy: those of one flow, since it was seeded last."""

    group: str
    lost: str
    epoch: int

    @property
    def prefix(self) -> str:
        """What the keys of its entries begin with."""
        return f"{self.group}/{self.lost}/{self.epoch}/"

    def key(self, partition: TopicPartition) -> bytes:
        """Return the key of a partition's entry."""
        return f"{self.prefix}{partition.topic}/{partition.partition}".encode()


def transactional_id(group: str) -> str:
    """Return the id that records of a group are fetched with: who takes it over ends every other fetch."""
    return f"kafka-dr-fetch-{group}"


def final_ledger(target: KafkaCluster, name: LedgerName, clock: Clock) -> dict[TopicPartition, FetchEntry]:
    """Return the entries about a copy, after which no process that fetches can write another one.

    That is the caller's to see to before: a process that begins later has to be refused by the register.

    :raises TryAgain: another group's open transaction hides what was written after it
    """
    try:
        target.topics.log_starts([LEDGER])
    except NotFound:
        # It is made before anything is fetched.
        return {}
    target.transactions.take_over([transactional_id(name.group)])
    return read_ledger(target, name, clock)


def read_ledger(target: KafkaCluster, name: LedgerName, clock: Clock) -> dict[TopicPartition, FetchEntry]:
    """Return the entries about a copy.

    Who relies on them takes over the transactional id first, so that no open transaction can still change this.

    :raises TryAgain: another group's open transaction hides what was written after it
    """
    try:
        start, end = target.topics.log_starts([LEDGER])[LEDGER], target.topics.high_watermarks([LEDGER])[LEDGER]
    except NotFound:
        return {}
    seen = wait_until(
        lambda: target.topics.last_stable_offsets([LEDGER])[LEDGER],
        lambda stable: stable >= end,
        clock=clock,
        seconds=_OTHERS_SECONDS,
        pause_seconds=SHORT_PAUSE_SECONDS,
    )
    if seen < end:
        raise TryAgain(f"{target.name}: an open transaction of another group hides what {LEDGER_TOPIC} says: try again")
    found = ledger_records.newest(target, LEDGER, OffsetRange(start, max(start, end)), name.prefix)
    return {partition: FetchEntry.decoded(value) for partition, value in found}
