"""What a checksum audit asks of clusters and Connect: numeric ranges, resolved once, for both sides.

The order matters. The flow's positions come first, then the target's ends, then the source's: so whatever lies below a
position is on the target, and whatever the target has within its range comes from within the source's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from jobs.checksum.state import Kind
from kafka_dr.audit import stamped_topics, times_count, times_lost
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.replication import Mm2Replicator
from kafka_dr.topology import ProtectionGroup


@dataclass(frozen=True, slots=True)
class ClusterRanges:
    """What one cluster holds at one moment.

    :param ranges: from the first offset that is still there to the last stable offset
    :param hidden: by partition, how many offsets an open transaction hides behind the last stable one
    """

    cluster_id: str
    topics: Mapping[str, Topic]
    ranges: Mapping[TopicPartition, OffsetRange]
    hidden: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ResolvedRanges:
    """Everything that is asked before anything is read.

    :param at: when the source's ends were read
    :param positions: next to be read by the flow; ``None`` where there is no flow that could be asked
    :param epoch: of the flow's seed; ``None`` for a flow that was never seeded
    :param compacted: topics that either side compacts
    :param stamped: topics whose records are stamped by the broker, on the source and on the target
    """

    at: datetime
    source: ClusterRanges
    target: ClusterRanges
    positions: Mapping[TopicPartition, int] | None
    epoch: int | None
    compacted: frozenset[str]
    stamped: tuple[frozenset[str], frozenset[str]]

    @property
    def partitions(self) -> list[TopicPartition]:
        """Every partition that either side has."""
        return sorted(self.source.ranges.keys() | self.target.ranges.keys())

    @property
    def restamped(self) -> frozenset[str]:
        """Topics whose times cannot be compared."""
        here, there = self.stamped
        # A flow that was never placed, or in a later epoch: the source may hold copies as well.
        turned = self.epoch is None or self.epoch > 1
        return frozenset(
            topic
            for topic in here | there
            if not times_count(source_stamps=topic in here, target_stamps=topic in there, turned=turned)
        )

    def times_lost(self, source: str, target: str) -> str:
        """Say why times of some topics cannot be compared; nothing where all can.

        :param source: its name, as that of the target
        """
        here, there = self.stamped
        sides = ((target, there), (source, here - there))
        return "; ".join(filter(None, (times_lost(name, found & self.restamped) for name, found in sides)))

    def with_stamped(self, here: Collection[str], there: Collection[str]) -> ResolvedRanges:
        """Return this with what the records themselves said: settings speak only of what is written now."""
        return replace(self, stamped=(self.stamped[0].union(here), self.stamped[1].union(there)))

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
) -> ResolvedRanges:
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
    return ResolvedRanges(
        at=at,
        source=here,
        target=there,
        positions=positions,
        epoch=epoch,
        compacted=frozenset(t for found in both for t, c in found.items() if "compact" in c.get("cleanup.policy", "")),
        stamped=(stamped_topics(configs[source]), stamped_topics(configs[target])),
    )


def _positions(replicator: Mm2Replicator) -> tuple[Mapping[TopicPartition, int] | None, int | None]:
    if replicator.status().state == "absent":
        return None, None
    where = replicator.where()
    return where.next_to_read, where.seed_epoch


def _names(group: ProtectionGroup, cluster: KafkaCluster, only: Collection[str]) -> set[str]:
    return {name for name in cluster.topics.names() if group.owns_topic(name) and (not only or name in only)}


def _held(cluster: KafkaCluster, names: Iterable[str]) -> ClusterRanges:
    topics = cluster.topics.describe(names)
    wanted = [partition for topic in topics.values() for partition in topic.partitions]
    starts = cluster.topics.log_starts(wanted)
    # AuditInput in this order an ordinary end is never taken for one that a transaction hides.
    ends = cluster.topics.high_watermarks(wanted)
    stable = cluster.topics.last_stable_offsets(wanted)
    return ClusterRanges(
        cluster.topics.identity().cluster_id,
        topics,
        {p: OffsetRange(starts[p], max(starts[p], stable[p])) for p in wanted},
        {p: ends[p] - stable[p] for p in wanted if ends[p] > stable[p]},
    )
