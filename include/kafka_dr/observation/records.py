"""The records of one partition as they are compared, in memory: small, whatever their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_dr.audit.alignment import NumberPair
from kafka_dr.audit.copies import NO_TIMESTAMP, are_timeless
from kafka_dr.audit.corruption import Parts, Payload
from kafka_dr.clusters import Record
from kafka_dr.positions import OffsetRange


class SeenRecord(NamedTuple):
    """A record that was read.

    :param time: milliseconds since the epoch
    :param stamped: whether the broker that holds it set its timestamp
    """

    offset: int
    time: int
    stamped: bool
    parts: Parts

    @property
    def untimed(self) -> bool:
        """Whether the record has no timestamp."""
        return self.time == NO_TIMESTAMP

    @classmethod
    def of(cls, record: Record) -> SeenRecord:
        """Take what is compared of a record."""
        payload = Payload(record.key, record.value, record.headers, record.timestamp_ms)
        return cls(record.offset, record.timestamp_ms, record.stamped, Parts.of(payload))


@dataclass(frozen=True, slots=True)
class ReadLog:
    """What was read of a partition on one cluster.

    :param records: in their order
    :param read: the offsets that were read
    :param held: the offsets that the cluster holds
    """

    records: Sequence[SeenRecord]
    read: OffsetRange
    held: OffsetRange

    @property
    def whole(self) -> bool:
        """Whether everything that the cluster holds was read."""
        return self.read.start <= self.held.start

    @property
    def from_first(self) -> bool:
        """Whether the first record that the partition ever had was read."""
        return self.read.start == 0


def written_by(records: Sequence[SeenRecord]) -> list[int]:
    """Return by when each record was written, in milliseconds since the epoch.

    A record without a timestamp was written when its neighbour was: the record before it, of the first ones the next.
    """
    times = [record.time for record in records]
    last = next((time for time in times if time != NO_TIMESTAMP), NO_TIMESTAMP)
    for n, time in enumerate(times):
        last = times[n] = last if time == NO_TIMESTAMP else time
    return times


NOTHING = ReadLog((), OffsetRange(0, 0), OffsetRange(0, 0))


class NumberedPair(NumberPair):
    """Two logs as numbers: records with equal content have the same one.

    If the target's broker stamped any of its records, or any of the source's has no timestamp, none of the partition is
    compared.
    """

    def __init__(self, source: ReadLog, target: ReadLog) -> None:
        self.timeless = are_timeless(source.records, target.records)
        self._numbers: dict[Parts, int] = {}
        super().__init__(*([self.number(record) for record in log.records] for log in (source, target)))

    def number(self, record: SeenRecord) -> int:
        """Return the number of a record's content."""
        return self._numbers.setdefault(self.parts(record), len(self._numbers))

    def parts(self, record: SeenRecord) -> Parts:
        """Return what is compared of a record."""
        return record.parts._replace(timestamp=None) if self.timeless else record.parts
