"""What an audit says about every offset that the source ever gave out. If it does not add up, the audit is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from kafka_dr.codec import StoredDocument


@dataclass(frozen=True, slots=True)
class Coverage(StoredDocument):
    """Offsets of one partition of the source, each counted once.

    :param produced: all offsets that were given out, from 0 to the end that was resolved
    :param verified: matched with the target, record by record and in order
    :param differing: records with a finding: lost, late, corrupt, out of order, in another partition, not verifiable
    :param in_flight: not copied yet, and not late
    :param expired: deleted before they were read
    :param control: transaction markers and aborted records: offsets without a record that a consumer could read
    :param compacted: replaced by a newer record of the same key, on either cluster
    :param excluded: left out because the audit was asked to, because a failback quarantined them, or because a take
        over approved them as they are
    """

    produced: int = 0
    verified: int = 0
    differing: int = 0
    in_flight: int = 0
    expired: int = 0
    control: int = 0
    compacted: int = 0
    excluded: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether every offset is accounted for exactly once."""
        produced, *parts = astuple(self)
        return bool(produced == sum(parts) and min(parts) >= 0)

    @property
    def records(self) -> int:
        """How many records were there to be compared; offsets that hold none are not among them."""
        return self.verified + self.differing + self.in_flight

    @property
    def sentence(self) -> str:
        """How many records were compared, and how many offsets were not, by reason."""
        said = f"{self.verified:,} of {self.records:,} records verified, {self.in_flight:,} in flight"
        others = (
            (self.control, "offsets hold no record (transaction markers, aborted records)"),
            (self.compacted, "offsets were compacted away"),
            (self.expired, "offsets were deleted before they were read"),
            (self.excluded, "offsets were left out on purpose"),
        )
        return "; ".join((said, *(f"{count:,} {words}" for count, words in others if count)))

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


def total(parts: Iterable[Coverage]) -> Coverage:
    """Add up several partitions, or several ranges of one."""
    return sum(parts, Coverage())
