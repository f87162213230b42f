"""What comparing two logs finds, and how far it got. Offsets are next to read, unless said to be *of* a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kafka_dr.positions import TopicPartition


class FindingKind(StrEnum):
    """What can be wrong with a copy."""

    LOST = "lost"  # records of the source that the target passed over
    MISSING = "missing"  # the target ends before a record of the source
    FOREIGN = "foreign"  # records on the target that did not come from the source
    DIFFERENT = "different"  # another record in the place of one of the source
    UNVERIFIABLE = "unverifiable"  # one side no longer has what the other would have to be compared with


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where a copy stops being equal, and how.

    :param source_offset: of the first record on the source that has no equal, or next to read there
    :param target_offset: the same on the target
    :param records: how many are concerned; ``None`` where that cannot be told
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
    """How far a partition is verified: below these offsets every record was matched by content.

    :param records: how many were matched since comparing began
    :param finding: why it stopped before it was told to; ``None`` where it did not
    :param skipped: records at the very beginning that only one side still has, the other's having expired; nothing is
        said about them
    """

    partition: TopicPartition
    source_offset: int
    target_offset: int
    records: int
    finding: FirstDifference | None
    skipped: int = 0


class Frontier(Protocol):
    """The line up to which the copy is known to be equal."""

    def advance(self, until: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Verified]:
        """Compare further.

        :param until: by partition, next to verify on the source; already copied, so that what is not there is a finding
        :returns: how far each of these partitions is verified now
        """
        ...
