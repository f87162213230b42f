"""What can be wrong with a copy, and how far a copy is verified. One list of kinds for every comparison.

An offset is next to read, unless it is said to be *of* a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kafka_dr.positions import TopicPartition


class FindingKind(StrEnum):
    """What can be wrong with one record of a copy, or with several in a row."""

    #: Records of the source that are not on the target, although the flow has passed them.
    LOST = "LOST"
    #: Records of the source that are not on the target, and that the flow has not passed yet.
    IN_FLIGHT = "IN_FLIGHT"
    #: In flight for longer than a record may take; of a record that was reported lost: it has come since.
    LATE = "LATE"
    #: The target's log ends before a record of the source. Whether the flow has passed that record is not known.
    MISSING = "MISSING"
    #: A second copy of a record.
    DUPLICATE = "DUPLICATE"
    #: A second copy of two or more records in a row.
    REPLAY = "REPLAY"
    CORRUPT_VALUE = "CORRUPT_VALUE"
    CORRUPT_KEY = "CORRUPT_KEY"
    CORRUPT_HEADER = "CORRUPT_HEADER"
    CORRUPT_TIMESTAMP = "CORRUPT_TIMESTAMP"
    #: The copy differs; which part of it is not known.
    CORRUPT_UNKNOWN = "CORRUPT_UNKNOWN"
    #: The records differ; whether the copy was changed, or is another record, was not looked at.
    DIFFERENT = "DIFFERENT"
    #: The copy is in the same partition, in another order.
    REORDERED = "REORDERED"
    #: The copy is in another partition.
    MOVED = "MOVED"
    #: A record of the target that is not a copy of any record of the source.
    FOREIGN = "FOREIGN"
    #: A copy of a record whose transaction was aborted: some replicators copy what no reader of the source sees.
    ABORTED = "ABORTED"
    #: One cluster has deleted what the records of the other one would have to be compared with.
    UNVERIFIABLE = "UNVERIFIABLE"


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first offset at which a copy is not equal, and why.

    :param source_offset: of the first record on the source without an equal copy, or next to read there
    :param target_offset: the same on the target
    :param records: how many are concerned; ``None`` if that is not known
    """

    kind: FindingKind
    partition: TopicPartition
    source_offset: int
    target_offset: int
    records: int | None
    sentence: str

    def __str__(self) -> str:
        return f"{self.partition}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Verified:
    """How far a partition is verified: below these offsets every record was matched by content, or was compacted.

    :param records: how many were matched since comparing began
    :param finding: why comparing stopped early; ``None`` if it did not
    :param skipped: records at the very start of one log whose counterparts had expired on the other cluster; nothing
        is said about them
    :param compacted: records that only one cluster has because compaction removed them from the other one
    """

    partition: TopicPartition
    source_offset: int
    target_offset: int
    records: int
    finding: FirstDifference | None
    skipped: int = 0
    compacted: int = 0


class Frontier(Protocol):
    """By partition, the offsets below which the copy is known to be equal."""

    def advance(self, until: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Verified]:
        """Compare further.

        :param until: by partition, next to verify on the source. The flow has copied up to there, so a record that is
            not on the target is a finding
        :returns: how far each of these partitions is verified now
        """
        ...
