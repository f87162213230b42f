"""What consumer groups have left to read in copies that keep another name than their originals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_dr.causes import cause
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.offsets.translate.answers import to_commit, translations_from_json
from kafka_dr.runs.run import Run

#: How far before the end of a log its last data record is looked for first.
_BACK = 200


@dataclass(frozen=True, slots=True)
class LeftToRead:
    """What one group has left.

    :param topics: whose copies these are, by the names of the originals
    :param offsets: at most so many records; ``None``: not known
    :param why: why it is not known; empty if it is
    """

    topics: frozenset[str]
    offsets: int | None
    why: str = ""


class UnreadCopies:
    """Asks what the groups that a run moves have left to read in copies on its target.

    Where each copy ends is asked once, at the first look that gets an answer: what arrives later is no older than what
    applications write. A group that has read all is not asked again. What cannot be read counts as left.
    """

    def __init__(self, run: Run) -> None:
        self._operator, self._audit = run.operator(run.target), run.clients.cluster(run.target, "audit")
        begins = to_commit(translations_from_json(run.fact("translations")))
        topics = {p.topic for found in begins.values() for p in found}
        originals = {topic: run.group.original_of(topic, run.target) for topic in topics}
        self._originals = {topic: name for topic, name in originals.items() if name is not None}
        copies = {group: {p: o for p, o in of.items() if p.topic in self._originals} for group, of in begins.items()}
        self._begins = {group: found for group, found in copies.items() if found}
        self._ends: Mapping[TopicPartition, int] | None = None

    def now(self) -> dict[str, LeftToRead]:
        """Return what each group has left, by its name; without the groups that have read all."""
        if not self._begins:
            return {}
        try:
            ends = self._ends = self._ends or ends_of_data(self._audit, self._lowest())
        except KafkaDrError as error:
            why = f"where the copies end cannot be read: {cause(error)}"
            return {group: LeftToRead(self._topics(of), None, why) for group, of in self._begins.items()}
        found = self._operator.group_reading.committed(self._begins)
        left = {group: self._left(begins, found[group], ends) for group, begins in self._begins.items()}
        known = {group: each for group, each in left.items() if each is not None}
        self._begins = {group: self._begins[group] for group in known}
        return known

    def _left(
        self,
        begins: Mapping[TopicPartition, int],
        found: Mapping[TopicPartition, int] | KafkaDrError,
        ends: Mapping[TopicPartition, int],
    ) -> LeftToRead | None:
        if isinstance(found, KafkaDrError):
            return LeftToRead(self._topics(begins), None, f"what it has committed cannot be read: {cause(found)}")
        left = {p: ends[p] - found.get(p, begin) for p, begin in begins.items()}
        unread = {p: offsets for p, offsets in left.items() if offsets > 0}
        return LeftToRead(self._topics(unread), sum(unread.values())) if unread else None

    def _topics(self, partitions: Mapping[TopicPartition, int]) -> frozenset[str]:
        return frozenset(self._originals[p.topic] for p in partitions)

    def _lowest(self) -> dict[TopicPartition, int]:
        lowest: dict[TopicPartition, int] = {}
        for found in self._begins.values():
            for p, offset in found.items():
                lowest[p] = min(offset, lowest.get(p, offset))
        return lowest


def ends_of_data(cluster: KafkaCluster, begins: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the offset after the last data record of each partition, or where reading begins if none follows there.

    Control records and aborted ones take offsets, too, and no application commits past them for certain.

    :param begins: next to read, by partition
    """
    starts, ends = cluster.topics.log_starts(begins), cluster.topics.last_stable_offsets(begins)
    first = {p: max(begin, starts[p]) for p, begin in begins.items()}
    found, back = dict[TopicPartition, int](), _BACK
    unseen = {p for p, start in first.items() if start < ends[p]}
    while unseen:
        ranges = {p: OffsetRange(max(first[p], ends[p] - back), ends[p]) for p in unseen}
        for record in cluster.log.read(ranges):
            found[record.topic_partition] = record.offset + 1
        unseen -= found.keys() | {p for p, seen in ranges.items() if seen.start == first[p]}
        back *= 10
    return {p: found.get(p, begin) for p, begin in begins.items()}
