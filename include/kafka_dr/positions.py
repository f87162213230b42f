"""The words for offsets: a partition, a range of it, records that are counted in a range, and the two ways in which an
offset of the source and one of the target belong together. Every room that works with offsets uses these classes, so
that one name has one meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class TopicPartition(NamedTuple):
    """One partition of one topic. A tuple, because it is the key of millions of look-ups, and C code hashes tuples."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class CommittedOffset(int):
    """A committed offset with the text that its consumer has committed next to it: an integer wherever one is expected.

    :param metadata: what Kafka calls commit metadata
    """

    def __new__(cls, offset: int, metadata: str = "") -> CommittedOffset:
        """Make the offset."""
        made = super().__new__(cls, offset)
        made.metadata = metadata
        return made

    metadata: str


def metadata_of(offset: int) -> str:
    """Return what was committed next to an offset; empty if nothing was."""
    return offset.metadata if isinstance(offset, CommittedOffset) else ""


#: One offset of one partition.
PartitionOffset: TypeAlias = tuple[TopicPartition, int]
#: What groups have committed: by group and partition, next to read. A partition without a commit is not in it. An
#: offset with commit metadata is a ``CommittedOffset``.
Committed: TypeAlias = Mapping[str, Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets ``start <= offset < end`` of a partition.

    :raises ValueError: the start is negative, or after the end
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start < 0 or self.end < self.start:
            raise ValueError(f"an offset range runs upwards from 0, not from {self.start} to {self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, offset: int) -> bool:
        return self.start <= offset < self.end


class CountedRange(NamedTuple):
    """Some records in a range of offsets of a partition: at most how many they are, and not which ones.

    :param start: of the range
    :param end: next after the range
    :param records: how many of its records are meant, at most
    """

    start: int
    end: int
    records: int

    def from_on(self, offset: int) -> int:
        """Return how many of the records are at an offset or after it, at most."""
        return min(self.records, max(0, self.end - max(offset, self.start)))


class OffsetPair(NamedTuple):
    """One record and its copy: the offset *of* each of them.

    :param source: of the record on the source cluster
    :param target: of its copy on the target cluster
    """

    source: int
    target: int

    @property
    def reversed(self) -> OffsetPair:
        """The same pair, seen in the other direction of replication."""
        return OffsetPair(self.target, self.source)


class SeedPoint(NamedTuple):
    """Two offsets from which on the records of both clusters correspond: where a flow began, or comparing stopped.

    :param source: next to read on the source cluster
    :param target: next to read on the target cluster
    """

    source: int
    target: int

    @property
    def reversed(self) -> SeedPoint:
        """The same point, seen in the other direction of replication."""
        return SeedPoint(self.target, self.source)
