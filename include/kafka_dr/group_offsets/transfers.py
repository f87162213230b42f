"""Between which logs a run moves what consumer groups have committed.

A group that moves to another cluster continues in the copies of what it has read. Where copies have other names than
their originals, it has read copies as well: it continues in their originals if the other cluster has them, else in that
cluster's copies of the same originals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kafka_dr.clusters.renamed import FlowCluster, seen_as
from kafka_dr.naming import Naming
from kafka_dr.positions import Committed, TopicPartition
from kafka_dr.runs.clients import Role
from kafka_dr.runs.run import Run

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PositionTransfer:
    """Logs of a run's source, and those of its target that hold the same records, under the names of the originals.

    :param origin: the cluster that has the originals
    :param on_source: what the source calls them if it has copies; ``None`` if it has the originals
    :param on_target: the same of the target, and ``None`` also if a copy has the name of its original
    """

    origin: str
    on_source: Naming | None = None
    on_target: Naming | None = None

    @property
    def follows_flow(self) -> bool:
        """Whether it is from originals to the copies that the flow from source to target makes."""
        return self.on_source is None

    def of_source(self, found: Mapping[TopicPartition, V], owns: Callable[[str], bool]) -> dict[TopicPartition, V]:
        """Return what is known of partitions of the source that this is about, by the names of the originals.

        :param owns: whether a topic of that name belongs to the protection group
        """
        return _originals(self.on_source, found, owns)

    def of_groups(self, committed: Committed, owns: Callable[[str], bool]) -> dict[str, dict[TopicPartition, int]]:
        """Return the same of what groups have committed on the source."""
        return {group: self.of_source(offsets, owns) for group, offsets in committed.items()}

    def of_target(self, found: Mapping[TopicPartition, V], owns: Callable[[str], bool]) -> dict[TopicPartition, V]:
        """Return the same of partitions of the target."""
        return _originals(self.on_target, found, owns)

    def at_source(self, partition: TopicPartition) -> TopicPartition:
        """Return what the source calls a partition."""
        return _called(self.on_source, partition)

    def at_target(self, partition: TopicPartition) -> TopicPartition:
        """Return what the target calls a partition."""
        return _called(self.on_target, partition)

    def source_of(self, run: Run, role: Role) -> FlowCluster:
        """Return the run's source under the names of the originals."""
        return seen_as(run.clients.cluster(run.source, role), self.on_source)

    def target_of(self, run: Run, role: Role) -> FlowCluster:
        """Return the run's target under the names of the originals."""
        return seen_as(run.clients.cluster(run.target, role), self.on_target)


def transfers(run: Run) -> tuple[PositionTransfer, ...]:
    """Return all that a run moves offsets between; the first one follows its flow."""
    naming, source, target = run.group.naming, run.source, run.target
    first = PositionTransfer(source, on_target=naming(source, target))
    if run.opens_copy:
        return (first,)
    third = (name for name in run.group.origins if name not in (source, target))
    copies = (PositionTransfer(name, naming(name, source), naming(name, target)) for name in third)
    return (first, PositionTransfer(target, on_source=naming(target, source)), *copies)


def along_flow(run: Run) -> PositionTransfer:
    """Return the one from originals to the copies that the run's flow makes."""
    return transfers(run)[0]


def _originals(
    naming: Naming | None, found: Mapping[TopicPartition, V], owns: Callable[[str], bool]
) -> dict[TopicPartition, V]:
    named = ((p if naming is None else _original(naming, p), value) for p, value in found.items())
    return {p: value for p, value in named if p is not None and owns(p.topic)}


def _original(naming: Naming, partition: TopicPartition) -> TopicPartition | None:
    topic = naming.original_of(partition.topic)
    return None if topic is None else TopicPartition(topic, partition.partition)


def _called(naming: Naming | None, partition: TopicPartition) -> TopicPartition:
    topic = None if naming is None else naming.copy_of(partition.topic)
    return partition if topic is None else TopicPartition(topic, partition.partition)
