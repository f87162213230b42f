"""What a process has read of a log after an offset is not read again while applications wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.offsets.following import FollowingOffsets
from support.memory_cluster import MemoryCluster

P = TopicPartition("orders", 0)


@dataclass
class Counted(MemoryCluster):
    """A cluster that counts how many offsets are read of it."""

    read_of: list[OffsetRange] = field(default_factory=list)

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], **how: str) -> Iterator[Record]:
        self.read_of += [each for each in ranges.values() if len(each)]
        return super().read(ranges, **how)


def cluster(*offsets: int) -> Counted:
    return Counted("east", "E", {"orders": [[Record("orders", 0, n, n, b"k", b"v", ()) for n in offsets]]})


@pytest.mark.parametrize(
    ("wanted", "offsets", "read"),
    [
        (OffsetRange(2, 8), (2, 4, 7), []),
        (OffsetRange(4, 10), (4, 7, 9), [OffsetRange(8, 10)]),
        (OffsetRange(8, 10), (9,), [OffsetRange(8, 10)]),
        # A group that goes back, a log that was made again, and what begins after a stretch that nobody read.
        (OffsetRange(1, 8), (1, 2, 4, 7), [OffsetRange(1, 8)]),
        (OffsetRange(2, 5), (2, 4), [OffsetRange(2, 5)]),
        (OffsetRange(9, 10), (9,), [OffsetRange(9, 10)]),
    ],
)
def test_only_what_follows_is_read_again(
    wanted: OffsetRange, offsets: tuple[int, ...], read: list[OffsetRange]
) -> None:
    east, known = cluster(1, 2, 4, 7, 9), FollowingOffsets()
    assert known.of(east.as_kafka, {P: OffsetRange(2, 8)}) == {P: (2, 4, 7)}
    east.read_of.clear()
    assert known.of(east.as_kafka, {P: wanted}) == {P: offsets}
    assert east.read_of == read
    assert known.of(cluster().as_kafka, {P: OffsetRange(0, 0)}) == {P: ()}
