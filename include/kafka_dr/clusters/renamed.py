"""A cluster whose topics are seen under the names that they have on the source of a flow: nothing else knows naming.

It has the parts of :class:`~kafka_dr.clusters.cluster.KafkaCluster` that only read, with the same methods. What is
asked of the cluster has its own names of topics, and what comes back has those of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from kafka_dr.clusters.cluster import KafkaCluster
from kafka_dr.clusters.configs import Configs, Described, Overview
from kafka_dr.clusters.errors import NotFound
from kafka_dr.clusters.group_reading import GroupReading
from kafka_dr.clusters.log import Isolation, Log
from kafka_dr.clusters.model import ClusterIdentity, Record, Topic
from kafka_dr.clusters.offsets_by_time import OffsetsByTime
from kafka_dr.clusters.topics import Topics
from kafka_dr.errors import KafkaDrError
from kafka_dr.naming import Naming
from kafka_dr.positions import OffsetRange, TopicPartition

V = TypeVar("V")
_ByPartition: TypeAlias = Mapping[TopicPartition, V]


@dataclass(frozen=True, slots=True)
class CopyNames:
    """The names of copies, as one cluster has them, and those of their originals."""

    naming: Naming

    def copy_of(self, topic: str) -> str | None:
        """Return what the copy of a topic of the source is called; ``None`` if it is never copied."""
        return self.naming.copy_of(topic)

    def own(self, topic: str) -> str:
        """Return what the copy of a topic of the source is called.

        :raises NotFound: it is never copied
        """
        found = self.naming.copy_of(topic)
        if found is None:
            raise NotFound(f"{topic} has no copy: it is never copied under the naming of this flow")
        return found

    def original(self, topic: str) -> str | None:
        """Return of which topic of the source a topic is the copy; ``None`` if it is none."""
        return self.naming.original_of(topic)

    def own_partitions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, TopicPartition]:
        """Return partitions by their own names, each with the name that it has on the source."""
        return {TopicPartition(self.own(p.topic), p.partition): p for p in partitions}


class RenamedTopics:
    """Topics and their offsets; see :class:`~kafka_dr.clusters.topics.Topics`."""

    def __init__(self, topics: Topics, names: CopyNames) -> None:
        self._topics, self._names = topics, names

    def identity(self) -> ClusterIdentity:
        """Return which cluster answers."""
        return self._topics.identity()

    def names(self) -> frozenset[str]:
        """Return the topics of the source that have a copy which the principal may see."""
        return frozenset(filter(None, map(self._names.original, self._topics.names())))

    def describe(self, names: Iterable[str]) -> dict[str, Topic]:
        """Describe copies.

        :raises NotFound: one of them does not exist
        """
        wanted = {self._names.own(name): name for name in names}
        return {wanted[own]: replace(found, name=wanted[own]) for own, found in self._topics.describe(wanted).items()}

    def existing(self, names: Iterable[str]) -> dict[str, Topic]:
        """Describe those of the copies that exist and that the principal may see."""
        wanted = {own: name for name in names if (own := self._names.copy_of(name)) is not None}
        return {wanted[own]: replace(found, name=wanted[own]) for own, found in self._topics.existing(wanted).items()}

    def partitions(self, wanted: Callable[[str], bool]) -> tuple[TopicPartition, ...]:
        """Return every partition of the copies whose originals have a wanted name, in order."""
        found = self._topics.partitions(lambda own: (name := self._names.original(own)) is not None and wanted(name))
        named = ((self._names.original(p.topic), p.partition) for p in found)
        return tuple(sorted(TopicPartition(name, number) for name, number in named if name is not None))

    def configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the effective settings of copies, by name and key.

        :raises NotFound: one of them does not exist
        """
        wanted = {self._names.own(name): name for name in names}
        return {wanted[own]: found for own, found in self._topics.configs(wanted).items()}

    def settings(self, names: Iterable[str], keys: Collection[str]) -> dict[str, dict[str, str]]:
        """Return some effective settings of copies, by name and key.

        :raises NotFound: one of them does not exist
        """
        wanted = {self._names.own(name): name for name in names}
        return {wanted[own]: found for own, found in self._topics.settings(wanted, keys).items()}

    def log_starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition."""
        return self._asked(self._topics.log_starts, partitions)

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the high watermark of each partition."""
        return self._asked(self._topics.high_watermarks, partitions)

    def last_stable_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the last stable offset of each partition."""
        return self._asked(self._topics.last_stable_offsets, partitions)

    def _asked(
        self, ask: Callable[[Iterable[TopicPartition]], _ByPartition[int]], partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        named = self._names.own_partitions(partitions)
        return {named[own]: offset for own, offset in ask(named).items()}


class RenamedLog:
    """Records; see :class:`~kafka_dr.clusters.log.Log`."""

    def __init__(self, log: Log, names: CopyNames) -> None:
        self._log, self._names = log, names

    def read(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        *,
        isolation: Isolation = "read_committed",
        stall_seconds: float = 15.0,
    ) -> Iterator[Record]:
        """Yield every record of the ranges, in order within each partition."""
        named = self._names.own_partitions(ranges)
        own = {each: ranges[partition] for each, partition in named.items()}
        for record in self._log.read(own, isolation=isolation, stall_seconds=stall_seconds):
            yield replace(record, topic=named[record.topic_partition].topic)


class RenamedOffsetsByTime:
    """Offsets by time; see :class:`~kafka_dr.clusters.offsets_by_time.OffsetsByTime`."""

    def __init__(self, offsets_by_time: OffsetsByTime, names: CopyNames) -> None:
        self._offsets_by_time, self._names = offsets_by_time, names

    def at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int | None]:
        """Return the first offset of that time or later; ``None`` if there is no such record."""
        named = self._names.own_partitions(partitions)
        return {named[own]: offset for own, offset in self._offsets_by_time.at(named, timestamp_ms).items()}

    def at_each(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return the same, at a time of its own for each partition."""
        named = self._names.own_partitions(times)
        found = self._offsets_by_time.at_each({own: times[p] for own, p in named.items()})
        return {named[own]: offset for own, offset in found.items()}


class RenamedConfigs:
    """Layouts and configuration; see :class:`~kafka_dr.clusters.configs.Configs`."""

    def __init__(self, configs: Configs, names: CopyNames) -> None:
        self._configs, self._names = configs, names

    def overview(self) -> Overview:
        """Return which cluster answers, and the layout of every copy that the principal may see."""
        found = self._configs.overview()
        topics = {
            original: replace(layout, name=original)
            for own, layout in found.topics.items()
            if (original := self._names.original(own)) is not None
        }
        return replace(found, topics=topics)

    def describe(self, names: Collection[str]) -> Described:
        """Return the configurations of copies, and the errors of those that could not be read."""
        wanted = {self._names.own(name): name for name in names}
        found = self._configs.describe(wanted)
        return Described(
            {wanted[own]: configs for own, configs in found.configs.items()},
            {wanted[own]: error for own, error in found.errors.items()},
        )


class RenamedGroupReading:
    """Committed offsets; see :class:`~kafka_dr.clusters.group_reading.GroupReading`."""

    def __init__(self, group_reading: GroupReading, names: CopyNames) -> None:
        self._group_reading, self._names = group_reading, names

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        """Return what each group has committed in copies, or the error of a group that could not be read."""
        found = self._group_reading.committed(groups)
        return {group: each if isinstance(each, KafkaDrError) else self._renamed(each) for group, each in found.items()}

    def _renamed(self, offsets: _ByPartition[int]) -> dict[TopicPartition, int]:
        return {
            TopicPartition(original, p.partition): offset
            for p, offset in offsets.items()
            if (original := self._names.original(p.topic)) is not None
        }


class RenamedCluster:
    """The target of a flow, under the names of the source.

    :param cluster: reached by a principal that may only read
    :param naming: of the flow
    """

    def __init__(self, cluster: KafkaCluster, naming: Naming) -> None:
        names = CopyNames(naming)
        #: The cluster under its own names.
        self.plain, self._naming = cluster, naming
        self.name = cluster.name
        self.settings = cluster.settings
        self.topics = RenamedTopics(cluster.topics, names)
        self.log = RenamedLog(cluster.log, names)
        self.offsets_by_time = RenamedOffsetsByTime(cluster.offsets_by_time, names)
        self.configs = RenamedConfigs(cluster.configs, names)
        self.group_reading = RenamedGroupReading(cluster.group_reading, names)

    def remembering_topics(self) -> RenamedCluster:
        """Return this cluster as one piece of work looks at it several times."""
        return RenamedCluster(self.plain.remembering_topics(), self._naming)


#: A cluster of a flow, for who only reads it.
FlowCluster: TypeAlias = KafkaCluster | RenamedCluster


def seen_as(cluster: KafkaCluster, naming: Naming | None) -> FlowCluster:
    """Return a cluster with its copies under the names of their originals.

    :param naming: of the copies; ``None``: they have these names
    """
    return cluster if naming is None else RenamedCluster(cluster, naming)


def plain(cluster: FlowCluster) -> KafkaCluster:
    """Return the cluster under its own names."""
    return cluster.plain if isinstance(cluster, RenamedCluster) else cluster
