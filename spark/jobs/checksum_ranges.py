"""What a checksum audit asks of clusters and Connect: numeric ranges, resolved once, for both sides.

The order matters. The flow's positions come first, then the target's ends, then the source's: so whatever lies below a
position is on the target, and whatever the target has within its range comes from within the source's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from jobs.checksum_state import Kind
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.replication import Mm2Replicator
from kafka_dr.topology import ProtectionGroup

#: Internal to the flow: they are on both sides and no copies of each other.
_RESTAMPED = ("message.timestamp.type", "LogAppendTime")


@dataclass(frozen=True, slots=True)
class Held:
    """What one cluster holds at one moment.

    :param ranges: from the first offset that is still there to the last stable offset
    :param hidden: by partition, how many offsets an open transaction hides behind the last stable one
    """

    cluster_id: str
    topics: Mapping[str, Topic]
    ranges: Mapping[TopicPartition, OffsetRange]
    hidden: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything that is asked before anything is read.

    :param at: when the source's ends were read
    :param positions: next to be read by the flow; ``None`` where there is no flow that could be asked
    :param epoch: of the flow's seed; ``None`` for a flow that was never seeded
    :param compacted: topics that either side compacts
    :param restamped: topics whose records the target stamps with its own time
    """

    at: datetime
    source: Held
    target: Held
    positions: Mapping[TopicPartition, int] | None
    epoch: int | None
    compacted: frozenset[str]
    restamped: frozenset[str]

    @property
    def partitions(self) -> list[TopicPartition]:
        """Every partition that either side has."""
        return sorted(self.source.ranges.keys() | self.target.ranges.keys())

    def kind(self, topic: str) -> Kind:
        """Return how a topic's fingerprints are made now; those made in another way do not compare."""
        return topic in self.compacted, topic not in self.restamped


def resolve(
    group: ProtectionGroup,
    *,
    source: KafkaCluster,
    target: KafkaCluster,
    replicator: Mm2Replicator,
    clock: Clock,
    only: Collection[str] = (),
) -> Resolved:
    """Ask the flow and both clusters.

    :param only: these topics; all of the group's where empty
    :raises Refused: one of these is not the group's, or is on neither side
    """
    positions, epoch = _positions(replicator)
    names = {cluster: _names(group, cluster, only) for cluster in (source, target)}
    if missing := set(only) - names[source] - names[target]:
        raise Refused(f"{group.name} has no topic {sorted(missing)[0]!r} on {source.name} or {target.name}")
    there = _held(target, names[target])
    here = _held(source, names[source])
    at = clock.now()
    configs = {cluster: cluster.topics.configs(found) for cluster, found in names.items()}
    both = [configs[source], configs[target]]
    return Resolved(
        at=at,
        source=here,
        target=there,
        positions=positions,
        epoch=epoch,
        compacted=frozenset(t for found in both for t, c in found.items() if "compact" in c.get("cleanup.policy", "")),
        restamped=frozenset(t for t, c in configs[target].items() if c.get(_RESTAMPED[0]) == _RESTAMPED[1]),
    )


def _positions(replicator: Mm2Replicator) -> tuple[Mapping[TopicPartition, int] | None, int | None]:
    if replicator.status().state == "absent":
        return None, None
    where = replicator.where()
    return where.next_to_read, where.seed_epoch


def _names(group: ProtectionGroup, cluster: KafkaCluster, only: Collection[str]) -> set[str]:
    return {name for name in cluster.topics.names() if group.owns_topic(name) and (not only or name in only)}


def _held(cluster: KafkaCluster, names: Iterable[str]) -> Held:
    topics = cluster.topics.describe(names)
    wanted = [partition for topic in topics.values() for partition in topic.partitions]
    starts = cluster.topics.log_starts(wanted)
    # Asked in this order an ordinary end is never taken for one that a transaction hides.
    ends = cluster.topics.high_watermarks(wanted)
    stable = cluster.topics.last_stable_offsets(wanted)
    return Held(
        cluster.topics.identity().cluster_id,
        topics,
        {p: OffsetRange(starts[p], max(starts[p], stable[p])) for p in wanted},
        {p: ends[p] - stable[p] for p in wanted if ends[p] > stable[p]},
    )
