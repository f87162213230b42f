"""Which offsets after a position have records, read once by a process: only what was written since is read again.

A claim asks right before it takes the group, and the cut-over asks again while applications wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster, RenamedCluster


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of a partition.

    :param offsets: of its committed records, rising
    """

    read: OffsetRange
    offsets: tuple[int, ...]

    def is_part_of(self, wanted: OffsetRange) -> bool:
        """Return whether only what follows is missing; a log that ends earlier than before is another one."""
        return self.read.start <= wanted.start <= self.read.end <= wanted.end


class FollowingOffsets:
    """Offsets of committed records; gone with the process."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool, TopicPartition], _Known] = {}
        self._lock = Lock()

    def of(
        self, cluster: FlowCluster, wanted: Mapping[TopicPartition, OffsetRange]
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the offsets of the records in ranges of a cluster, rising.

        :raises KafkaDrError: what is not known yet could not be read
        """
        # Under one name a cluster may have a topic of its own, and the copy of another cluster's.
        renamed = isinstance(cluster, RenamedCluster)
        with self._lock:
            before = {p: self._known.get((cluster.name, renamed, p)) for p in wanted}
        known = {p: found for p, found in before.items() if found is not None and found.is_part_of(wanted[p])}
        left = {p: OffsetRange(known[p].read.end if p in known else each.start, each.end) for p, each in wanted.items()}
        read: dict[TopicPartition, list[int]] = {p: [] for p in wanted}
        for record in cluster.log.read(left):
            read[record.topic_partition].append(record.offset)
        found = {p: (*(known[p].offsets if p in known else ()), *new) for p, new in read.items()}
        with self._lock:
            for p, each in wanted.items():
                begin = known[p].read.start if p in known else each.start
                self._known[cluster.name, renamed, p] = _Known(OffsetRange(begin, each.end), found[p])
        return {p: offsets[bisect_left(offsets, wanted[p].start) :] for p, offsets in found.items()}
