"""What two logs hold, by who wrote each record: the lab's applications number theirs.

The report compares content. This looks at numbers alone, so a fault of the one is none of the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_dr.clusters import KafkaCluster
from kafka_dr.positions import OffsetRange, TopicPartition
from lab.demo.observed.others_flow import copy_of, copy_partition
from lab.traffic.records import identify


class Numbered(NamedTuple):
    """A record in a log.

    :param writer: the application and its number of the record; ``None`` if no application wrote it
    """

    offset: int
    writer: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class PairOfLogs:
    """One partition on both clusters.

    :param source: its committed records
    :param aborted: who wrote records of the source whose transactions were aborted
    :param target: its records
    """

    source: Sequence[Numbered]
    aborted: Collection[tuple[str, int]]
    target: Sequence[Numbered]

    @property
    def second_copies(self) -> int:
        """How many records of the target are there once more."""
        known = {each.writer for each in self.source}
        copies = [each.writer for each in self.target if each.writer in known]
        return len(copies) - len(set(copies))

    @property
    def copies_of_aborted(self) -> int:
        """How many records of the target no reader of committed records sees on the source."""
        return sum(each.writer in self.aborted for each in self.target)

    @property
    def last_copied(self) -> int:
        """The highest offset of a record of the source that has a copy; -1 if there is none."""
        there = {each.writer for each in self.target}
        return max((each.offset for each in self.source if each.writer in there), default=-1)

    @property
    def not_copied(self) -> int:
        """How many records of the source are after the last one that has a copy."""
        last = self.last_copied
        return sum(each.offset > last for each in self.source)

    def resumed(self, position: int, begin: int) -> tuple[int, int]:
        """Return what a reader gets that continues on the target: records again, and unread ones that it never gets.

        :param position: next to read on the source
        :param begin: next to read on the target
        """
        known = {each.writer for each in self.source}
        unread = {each.writer for each in self.source if each.offset >= position}
        there = {each.writer for each in self.target}
        delivered = [each.writer for each in self.target if each.offset >= begin and each.writer in known]
        new = unread.intersection(delivered)
        return len(delivered) - len(new), len((unread & there) - new)


class CopiedRecords:
    """What comes into the copies of topics from now on; every record is read once.

    :param source: names the partitions
    :param topics: of the source; a copy may be made later
    """

    def __init__(self, source: KafkaCluster, target: KafkaCluster, topics: Sequence[str]) -> None:
        described = source.topics.describe(topics)
        self._partitions = [p for topic in described.values() for p in topic.partitions]
        self._target = target
        self._next = self._ends()
        self._arrived: dict[TopicPartition, set[tuple[str, int]]] = {p: set() for p in self._partitions}

    def look(self) -> Mapping[TopicPartition, Collection[tuple[str, int]]]:
        """Return who wrote the originals of what has come by now, by partition of the source."""
        ends, copies = self._ends(), {copy_partition(p): p for p in self._partitions}
        ranges = {copy_partition(p): OffsetRange(self._next.get(p, 0), end) for p, end in ends.items()}
        for record in self._target.log.read(ranges, isolation="read_uncommitted"):
            if who := identify(record.headers):
                self._arrived[copies[record.topic_partition]].add((who.application, who.sequence))
        self._next |= ends
        return self._arrived

    def _ends(self) -> dict[TopicPartition, int]:
        there = self._target.topics.names()
        copies = {copy_partition(p): p for p in self._partitions if copy_of(p.topic) in there}
        return {copies[p]: end for p, end in self._target.topics.high_watermarks(copies).items()}


def read_pairs(source: KafkaCluster, target: KafkaCluster, topics: Iterable[str]) -> dict[TopicPartition, PairOfLogs]:
    """Read topics and their copies whole.

    :param topics: of the source; a topic that has no copy yet has an empty one
    """
    described, there = source.topics.describe(topics), target.topics.names()
    partitions = [p for topic in described.values() for p in topic.partitions]
    copies = {copy_partition(p): p for p in partitions if copy_of(p.topic) in there}
    committed = _read(source, {p: p for p in partitions}, committed=True)
    every = _read(source, {p: p for p in partitions}, committed=False)
    held = dict.fromkeys(partitions, ()) | _read(target, copies, committed=False)
    return {p: PairOfLogs(committed[p], _writers(every[p]) - _writers(committed[p]), held[p]) for p in partitions}


def _read(
    cluster: KafkaCluster, names: Mapping[TopicPartition, TopicPartition], *, committed: bool
) -> dict[TopicPartition, Sequence[Numbered]]:
    starts = cluster.topics.log_starts(names)
    ends = cluster.topics.last_stable_offsets(names) if committed else cluster.topics.high_watermarks(names)
    found: dict[TopicPartition, list[Numbered]] = {p: [] for p in names.values()}
    ranges = {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in names}
    for record in cluster.log.read(ranges, isolation="read_committed" if committed else "read_uncommitted"):
        who = identify(record.headers)
        number = (who.application, who.sequence) if who else None
        found[names[record.topic_partition]].append(Numbered(record.offset, number))
    return dict(found)


def _writers(records: Iterable[Numbered]) -> set[tuple[str, int]]:
    return {each.writer for each in records if each.writer is not None}
