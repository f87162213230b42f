"""A cluster in memory, as who only reads it sees it; tests/contract holds it to a real one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from kafka_dr.clusters import (
    ClientSettings,
    ClusterIdentity,
    GroupState,
    KafkaCluster,
    NotAuthorized,
    NotFound,
    OffsetRange,
    Record,
    Topic,
    TopicPartition,
)
from kafka_dr.clusters.configs import Described, Overview
from kafka_dr.clusters.configuration import ConfigValue, Origin, TopicLayout
from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.clusters.held_back import BatchHeader, HeldBackLook, Holder, classified
from kafka_dr.clusters.streams_groups import StreamsTopology
from kafka_dr.errors import KafkaDrError


@dataclass
class MemoryCluster:
    """Topics, records and committed offsets.

    :param topics_held: by topic, the records of each partition
    :param hidden: topics that the principal may not see
    :param settings_hidden: whether it may not see settings
    :param open_from: by partition, the offset from which an open transaction hides the log
    :param opened: by partition, the offsets of records of that transaction
    :param kinds: of the groups that are none of consumers
    :param members: by group, its assignor and its members, each as client id and host
    :param groups_hidden: groups whose offsets, members and topics the principal may not see
    :param aborted: by partition, the offsets of records whose transactions were aborted
    :param taken_over: the transactional ids that were taken over, in this order
    """

    name: str
    cluster_id: str
    topics_held: Mapping[str, list[list[Record]]] = field(default_factory=dict)
    committed_offsets: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=lambda: {"cleanup.policy": "delete"})
    hidden: Collection[str] = ()
    settings_hidden: bool = False
    open_from: Mapping[TopicPartition, int] = field(default_factory=dict)
    opened: Mapping[TopicPartition, Collection[int]] = field(default_factory=dict)
    kinds: Mapping[str, ListedGroup] = field(default_factory=dict)
    members: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    groups_hidden: Collection[str] = ()
    aborted: Mapping[TopicPartition, Collection[int]] = field(default_factory=dict)
    taken_over: list[str] = field(default_factory=list)

    @property
    def settings(self) -> ClientSettings:
        return ClientSettings("127.0.0.1:9")

    @property
    def transactions(self) -> MemoryTransactions:
        return MemoryTransactions(self.taken_over)

    @property
    def as_kafka(self) -> KafkaCluster:
        """The same, for what asks for a real one."""
        return cast("KafkaCluster", self)

    @property
    def topics(self) -> MemoryCluster:
        return self

    @property
    def log(self) -> MemoryCluster:
        return self

    @property
    def held_back(self) -> MemoryCluster:
        return self

    @property
    def offsets_by_time(self) -> MemoryCluster:
        return self

    @property
    def configs(self) -> MemoryConfigs:
        return MemoryConfigs(self)

    @property
    def group_reading(self) -> MemoryGroups:
        return MemoryGroups(self)

    @property
    def groups(self) -> MemoryGroups:
        return MemoryGroups(self)

    @property
    def group_kinds(self) -> MemoryGroups:
        return MemoryGroups(self)

    @property
    def streams_groups(self) -> MemoryGroups:
        return MemoryGroups(self)

    def identity(self) -> ClusterIdentity:
        return ClusterIdentity(self.cluster_id, (1,), 1)

    def names(self) -> frozenset[str]:
        return frozenset(self.topics_held) - frozenset(self.hidden)

    def describe(self, names: Iterable[str]) -> dict[str, Topic]:
        found = {}
        for name in sorted(set(names)):
            if name in self.hidden:
                raise NotAuthorized(f"{self.name}: {name}: TOPIC_AUTHORIZATION_FAILED")
            if name not in self.topics_held:
                raise NotFound(f"{self.name}: {name}: UNKNOWN_TOPIC_OR_PARTITION")
            found[name] = Topic(name, f"id-{self.name}-{name}", (1,) * len(self.topics_held[name]))
        return found

    def log_starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {p: self._records(p)[0].offset if self._records(p) else 0 for p in partitions}

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {p: self._records(p)[-1].offset + 1 if self._records(p) else 0 for p in partitions}

    def last_stable_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {p: min(end, self.open_from.get(p, end)) for p, end in self.high_watermarks(partitions).items()}

    def look(self, partitions: Iterable[TopicPartition], *, named: bool = True) -> HeldBackLook:
        ends, stable = self.high_watermarks(wanted := set(partitions)), self.last_stable_offsets(wanted)
        ranges = {p: OffsetRange(stable[p], end) for p, end in ends.items() if stable[p] < end}
        found = {p: classified(offsets, self._headers(p, offsets)) for p, offsets in ranges.items()}
        return HeldBackLook(stable, found, (Holder(1, "in-memory-open" if named else None, None),) if found else ())

    def _headers(self, p: TopicPartition, offsets: OffsetRange) -> Iterator[BatchHeader]:
        for each in (r for r in self._records(p) if r.offset in offsets):
            opened = each.offset in self.opened.get(p, ())
            yield BatchHeader(
                OffsetRange(each.offset, each.offset + 1), 1 if opened else None, first_ms=each.timestamp_ms
            )

    def read(
        self, ranges: Mapping[TopicPartition, OffsetRange], *, isolation: str = "read_committed", **_: Any
    ) -> Iterator[Record]:
        for p, wanted in ranges.items():
            hidden = self.aborted.get(p, ()) if isolation == "read_committed" else ()
            yield from (r for r in self._records(p) if r.offset in wanted and r.offset not in hidden)

    def at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int | None]:
        return {
            p: next((r.offset for r in self._records(p) if r.timestamp_ms >= timestamp_ms), None) for p in partitions
        }

    def _records(self, partition: TopicPartition) -> list[Record]:
        if partition.topic not in self.topics_held:
            raise NotFound(f"{self.name}: {partition.topic}: UNKNOWN_TOPIC_OR_PARTITION")
        return self.topics_held[partition.topic][partition.partition]


@dataclass(frozen=True)
class MemoryTransactions:
    """Transactions of such a cluster: none is open but those that hide its logs."""

    taken_over: list[str]

    def take_over(self, ids: Iterable[str]) -> None:
        self.taken_over.extend(ids)

    def open(self) -> tuple[()]:
        return ()


@dataclass(frozen=True)
class MemoryConfigs:
    """Layouts and configuration of such a cluster."""

    cluster: MemoryCluster

    def overview(self) -> Overview:
        held = self.cluster.topics_held
        topics = {name: TopicLayout(name, len(held[name]), 1) for name in self.cluster.names()}
        return Overview(self.cluster.cluster_id, 1, topics)

    def describe(self, names: Collection[str]) -> Described:
        if self.cluster.settings_hidden:
            return Described({}, {name: NotAuthorized(f"{name}: DESCRIBE_CONFIGS") for name in names})
        found = {key: ConfigValue(value, Origin.TOPIC) for key, value in self.cluster.configuration.items()}
        return Described(dict.fromkeys(names, found), {})


@dataclass(frozen=True)
class MemoryGroups:
    """Groups of such a cluster."""

    cluster: MemoryCluster

    def names(self) -> frozenset[str]:
        return frozenset(self.cluster.committed_offsets) - self.cluster.kinds.keys()

    def listed(self) -> tuple[ListedGroup, ...]:
        every = sorted(self.cluster.committed_offsets.keys() | self.cluster.kinds.keys())
        return tuple(
            self.cluster.kinds.get(name) or ListedGroup(name, "consumer", "classic consumer") for name in every
        )

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | KafkaDrError]:
        return {g: self._refused(g) or dict(self.cluster.committed_offsets.get(g, {})) for g in groups}

    def states(self, groups: Iterable[str]) -> dict[str, GroupState | KafkaDrError]:
        return {group: self._refused(group) or self._state(group) for group in groups}

    def topologies(self, groups: Iterable[str]) -> dict[str, StreamsTopology | KafkaDrError]:
        return {group: self._refused(group) or StreamsTopology() for group in groups}

    def _refused(self, group: str) -> KafkaDrError | None:
        hidden = group in self.cluster.groups_hidden
        return NotAuthorized(f"{self.cluster.name}: {group}: GROUP_AUTHORIZATION_FAILED") if hidden else None

    def _state(self, group: str) -> GroupState:
        assignor, members = self.cluster.members.get(group, ("", ()))
        return GroupState(group, "STABLE" if members else "EMPTY", members, frozenset(), assignor)


def numbered(topic: str, numbers: Iterable[int], *, partition: int = 0, first_ms: int = 1_000) -> list[Record]:
    """Return records whose value is their number, one each millisecond."""
    return [
        Record(topic, partition, offset, first_ms + number, b"k%d" % number, b"v%d" % number)
        for offset, number in enumerate(numbers)
    ]
