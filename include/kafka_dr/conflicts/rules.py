"""What a conflict is. Pure: the Spark job says the same in SQL, and its self-test compares the two in each audit.

**Order.** The records of one key, of all origins, are ordered by time, then by the declared order of their origins,
then by partition and offset.

**Neighbours.** Of each record those of the same key count that are, for each other origin, the last one before it in
this order. So there are at most as many pairs as records times other origins, however often a key is written. An older
record of that origin is overwritten by the neighbour already, and a finding of its own where it meets its own
neighbours; a pair further apart that a nearer pair hides is not named.

**Certainty** of a pair, an earlier and a later record:

* *unseen*: neither site could have seen the other's record when it wrote. A record is on another site not before its
  own time, and not before the last time at which it is known that it was not there. Each of the two was written before
  that, by more than the clocks of the sites may differ;
* *seen*: all declared readers on the site of one had committed past the copy of the other before it was written, again
  by at least the skew. A time that a broker gave is later than the writing, so it proves nothing here;
* unseen and not seen: **certain**. Seen and not unseen: **ordered**, no conflict. All else, what contradicts itself
  included: **possible**.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

#: How sure it is that neither site had seen the other's record.
Certainty = Literal["certain", "possible", "ordered"]
#: What met: two values, or a value and a deletion; or one key in different partitions, whatever was seen.
ConflictKind = Literal["write_write", "delete_write", "partition_differs"]

#: What is wrong with one record: who owns it, or what it says of its origin.
StrayKind = Literal["not_owner", "no_owner", "origin_missing", "origin_wrong", "came_back"]


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """A record in the log of the site that took it first.

    :param origin: the number of that site in the declared order
    :param time_ms: its timestamp, milliseconds since the epoch
    :param value: a digest of its value; ``None``: it deletes the key
    :param not_before: by number of another site, the last time at which the record is known not to have been there
    :param read_by: by number of another site, the first time at which its readers are known to have read the copy
    :param stamped: whether a broker gave the time
    """

    origin: int
    partition: int
    offset: int
    time_ms: int
    value: int | None
    not_before: Mapping[int, int] = field(default_factory=dict)
    read_by: Mapping[int, int] = field(default_factory=dict)
    stamped: bool = False

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Its part in the order of all records of its key."""
        return self.time_ms, self.origin, self.partition, self.offset


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two records of one key that are neighbours.

    :param earlier: the one before, in the order of all records of the key
    :param skew_ms: how far the clocks of two sites may differ
    """

    earlier: SiteRecord
    later: SiteRecord
    skew_ms: int

    @property
    def certainty(self) -> Certainty:
        """See the head of this module."""
        earlier, later, skew = self.earlier, self.later, self.skew_ms
        unseen = all(
            written.time_ms + skew < max(other.time_ms, other.not_before.get(written.origin, other.time_ms))
            for written, other in ((earlier, later), (later, earlier))
        )
        seen = any(
            not written.stamped
            and (read := other.read_by.get(written.origin)) is not None
            and read + skew <= written.time_ms
            for written, other in ((earlier, later), (later, earlier))
        )
        if unseen == seen:
            return "possible"
        return "certain" if unseen else "ordered"

    @property
    def kind(self) -> ConflictKind:
        """What met."""
        return "delete_write" if (self.earlier.value is None) != (self.later.value is None) else "write_write"

    @property
    def equal(self) -> bool:
        """Whether both say the same, deletions included."""
        return self.earlier.value == self.later.value

    @property
    def margin_ms(self) -> int:
        """By how much the winner is later."""
        return self.later.time_ms - self.earlier.time_ms

    @property
    def winner(self) -> SiteRecord:
        """Return what counts by ``last_write_wins``: the later time; of equal times the origin declared first."""
        return self.later if self.margin_ms else self.earlier

    @property
    def within_skew(self) -> bool:
        """Whether the clocks alone may have decided."""
        return self.margin_ms <= self.skew_ms

    @property
    def partition_differs(self) -> bool:
        """Whether the key is in different partitions on the two sites."""
        return self.earlier.partition != self.later.partition


def neighbours(records: Iterable[SiteRecord], skew_ms: int) -> Iterator[Meeting]:
    """Yield the pairs of neighbours among the records of one key, of whatever certainty.

    Takes one look at each record, after sorting them.
    """
    last: dict[int, SiteRecord] = {}
    for record in sorted(records, key=lambda each: each.order):
        for origin, before in last.items():
            if origin != record.origin:
                yield Meeting(before, record, skew_ms)
        last[record.origin] = record


def is_conflict(met: Meeting) -> bool:
    """Return whether a pair is a conflict, certain or possible."""
    return met.certainty != "ordered"
