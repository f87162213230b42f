"""A cluster whose topics are seen under the names that they have on the source of a flow: nothing else knows naming."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from kafka_dr.clusters import ClusterError, KafkaCluster, NotFound, Record
from kafka_dr.clusters.configs import Described, Overview
from kafka_dr.clusters.log import Isolation
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.naming import Naming
from kafka_dr.positions import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class RenamedCluster:
    """One cluster of a flow, read by a principal that may only read.

    :param own: returns what a topic of the source is called here; ``None`` if it is not here
    :param original: the way back
    """

    cluster: KafkaCluster
    own: Callable[[str], str | None]
    original: Callable[[str], str | None]

    @classmethod
    def source(cls, cluster: KafkaCluster) -> RenamedCluster:
        """Return the source: every topic has its own name."""
        return cls(cluster, lambda name: name, lambda name: name)

    @classmethod
    def target(cls, cluster: KafkaCluster, naming: Naming) -> RenamedCluster:
        """Return the target: copies have the names of their originals."""
        return cls(cluster, naming.copy_of, naming.original_of)

    def overview(self) -> Overview:
        """Return the topics that the principal may see."""
        found = self.cluster.configs.overview()
        topics = {
            original: replace(layout, name=original)
            for name, layout in found.topics.items()
            if (original := self.original(name)) is not None
        }
        return replace(found, topics=topics)

    def hidden(self, topics: Collection[str]) -> dict[str, KafkaDrError]:
        """Return of topics that are not listed those of which it is not known that they do not exist, and why."""
        found: dict[str, KafkaDrError] = {}
        for topic in sorted(topics):
            try:
                self.cluster.topics.describe([self.own(topic) or topic])
            except NotFound:
                continue
            except (ClusterError, TryAgain) as error:
                found[topic] = error
        return found

    def described(self, topics: Collection[str]) -> Described:
        """Return the configurations of topics, and the errors of those that could not be read."""
        names = {own: topic for topic in topics if (own := self.own(topic)) is not None}
        found = self.cluster.configs.describe(names)
        return Described(
            {names[name]: configs for name, configs in found.configs.items()},
            {names[name]: error for name, error in found.errors.items()},
        )

    def held(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        """Return the offsets that the cluster holds of partitions that exist, up to the last stable offset."""
        named = {self._own(p): p for p in partitions}
        starts = self.cluster.topics.log_starts(named)
        ends = self.cluster.topics.last_stable_offsets(named)
        return {named[p]: OffsetRange(starts[p], max(starts[p], ends[p])) for p in named}

    def read(
        self, ranges: Mapping[TopicPartition, OffsetRange], *, isolation: Isolation = "read_committed"
    ) -> Iterator[Record]:
        """Yield the records of ranges."""
        named = {self._own(p): p for p in ranges}
        for record in self.cluster.log.read({p: ranges[named[p]] for p in named}, isolation=isolation):
            yield replace(record, topic=named[record.topic_partition].topic)

    def committed(self, groups: Collection[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        """Return what groups have committed, or the error of a group that could not be read."""
        found = self.cluster.group_reading.committed(groups)
        return {group: each if isinstance(each, KafkaDrError) else self._renamed(each) for group, each in found.items()}

    def _renamed(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {
            TopicPartition(original, p.partition): offset
            for p, offset in offsets.items()
            if (original := self.original(p.topic)) is not None
        }

    def _own(self, partition: TopicPartition) -> TopicPartition:
        return TopicPartition(self.own(partition.topic) or partition.topic, partition.partition)
