"""The records of one partition as they are compared, in memory: small, whatever their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_dr.audit.alignment import IndexedHashes
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


NOTHING = ReadLog((), OffsetRange(0, 0), OffsetRange(0, 0))


class NumberedPair:
    """Two logs as numbers: records with equal content have the same one.

    If the target's broker stamped any of its records, no timestamp of the partition is compared.
    """

    def __init__(self, source: ReadLog, target: ReadLog) -> None:
        self.timeless = any(record.stamped for record in target.records)
        self._numbers: dict[Parts, int] = {}
        self.source = [self.number(record) for record in source.records]
        self.target = [self.number(record) for record in target.records]

    def number(self, record: SeenRecord) -> int:
        """Return the number of a record's content."""
        return self._numbers.setdefault(self.parts(record), len(self._numbers))

    def parts(self, record: SeenRecord) -> Parts:
        """Return what is compared of a record."""
        return record.parts._replace(timestamp=None) if self.timeless else record.parts

    @property
    def lengths(self) -> tuple[int, int]:
        """How many records the source and the target have."""
        return len(self.source), len(self.target)

    def in_step(self, source: int, target: int) -> int:
        """Return how many records are equal one by one from these indexes on."""
        most = min(len(self.source) - source, len(self.target) - target)
        return next((n for n in range(most) if self.source[source + n] != self.target[target + n]), most)

    def shared(self, source: range, target: range, most: int | None = None) -> tuple[IndexedHashes, IndexedHashes]:
        """Return the records of two windows whose content occurs in both; of each window only the first ``most``."""
        both = {self.source[s] for s in source} & {self.target[t] for t in target}
        on_source = [s for s in source if self.source[s] in both][:most]
        on_target = [t for t in target if self.target[t] in both][:most]
        return (
            IndexedHashes(on_source, [self.source[s] for s in on_source]),
            IndexedHashes(on_target, [self.target[t] for t in on_target]),
        )
