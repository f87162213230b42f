"""What a checksum audit asks clusters and flow: numeric offset ranges, resolved once for both clusters.

The order matters. The flow's positions come first, then the target's ends, then the source's. So everything below a
position is on the target, and everything in the target's range was copied from the source's range.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from jobs.checksum.state import Kind
from jobs.flows import ReachedFlow
from jobs.seen_settings import NOT_GRANTED, SeenSettings, seen_settings
from kafka_dr.audit.compaction import compacted_topics
from kafka_dr.audit.copies import stamped_topics, times_count, times_lost, times_missing
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.clusters.flow_ends import hidden
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.replication.replicator import WatchedFlow


@dataclass(frozen=True, slots=True)
class ClusterRanges:
    """What one cluster holds at one moment.

    :param ranges: from the log start offset to the last stable offset
    :param hidden: by partition, how many offsets after the last stable one an open transaction hides
    :param waiting_since: of the source, by partition: the timestamp of the oldest acknowledged record among these, in
        ms; a disaster would take it
    """

    cluster_id: str
    topics: Mapping[str, Topic]
    ranges: Mapping[TopicPartition, OffsetRange]
    hidden: Mapping[TopicPartition, int]
    waiting_since: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResolvedRanges:
    """Everything that is asked before anything is read.

    :param at: when the source's ends were read
    :param positions: next to be read by the flow; ``None`` if there is no flow that could be asked
    :param epoch: of the flow's seed; ``None`` for a flow that was never seeded
    :param compacted: topics that either cluster compacts
    :param stamped: topics whose records the broker stamps, on the source and on the target
    :param untimed: topics with records that have no timestamp, on the source and on the target
    :param observed: whether somebody else runs the flow, always in this direction
    :param left_out: a sentence for each thing that was not looked at; while there is one, nothing is equal
    :param cautions: a sentence for each thing that is not known of what was looked at
    """

    at: datetime
    source: ClusterRanges
    target: ClusterRanges
    positions: Mapping[TopicPartition, int] | None
    epoch: int | None
    compacted: frozenset[str]
    stamped: tuple[frozenset[str], frozenset[str]]
    untimed: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    observed: bool = False
    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def by_others(self) -> bool:
        """Whether somebody else copies, who may read what is not committed: this project's flows do not."""
        return self.observed or self.positions is None

    @property
    def partitions(self) -> list[TopicPartition]:
        """Every partition that either cluster has."""
        return sorted(self.source.ranges.keys() | self.target.ranges.keys())

    @property
    def restamped(self) -> frozenset[str]:
        """Topics whose timestamps cannot be compared."""
        source, target = self.stamped
        on_source, on_target = self.untimed
        # A flow that was never seeded, or in a later epoch: the source may hold copies as well.
        turned = not self.observed and (self.epoch is None or self.epoch > 1)
        return frozenset(
            topic
            for topic in source | target | on_source | on_target
            if not times_count(
                source_stamps=topic in source,
                target_stamps=topic in target,
                turned=turned,
                source_lacks=topic in on_source,
                target_lacks=topic in on_target,
            )
        )

    def times_lost(self, source: str, target: str) -> str:
        """Return why the timestamps of some topics cannot be compared; empty if all can be.

        :param source: the name of the source
        :param target: the name of the target
        """
        on_source, on_target = self.stamped
        stamped = ((target, on_target), (source, on_source - on_target))
        said = [times_lost(name, found & self.restamped) for name, found in stamped]
        return "; ".join(filter(None, (*said, times_missing(self.restamped - on_source - on_target))))

    def with_stamped(self, source: Collection[str], target: Collection[str]) -> ResolvedRanges:
        """Return the same with topics whose records say that a broker stamped them: settings apply only to new records.

        :param source: such topics of the source
        :param target: such topics of the target
        """
        return replace(self, stamped=(self.stamped[0].union(source), self.stamped[1].union(target)))

    def with_untimed(self, source: Collection[str], target: Collection[str]) -> ResolvedRanges:
        """Return the same with topics that hold records without a timestamp.

        :param source: such topics of the source
        :param target: such topics of the target
        """
        return replace(self, untimed=(self.untimed[0].union(source), self.untimed[1].union(target)))

    def kind(self, topic: str) -> Kind:
        """Return how a topic's fingerprints are made now; those made in another way cannot be compared."""
        return topic in self.compacted, topic not in self.restamped


def resolve(reached: ReachedFlow, *, clock: Clock, only: Collection[str] = ()) -> ResolvedRanges:
    """Ask the flow and both clusters.

    :param only: these topics; empty: all of the flow's
    :raises Refused: one of these is not a topic of the flow, or is on neither cluster
    """
    flow, source, target = reached.declared, reached.source, reached.target
    positions, epoch = _positions(reached.watched)
    on_source, on_target = (_names(reached, cluster, only) for cluster in (source, target))
    left_out: tuple[str, ...] = ()
    if flow.observed:
        # What only the target has may be a topic of its own.
        on_target &= on_source
        unseen = hidden(target, on_source - on_target)
        left_out = (
            *(() if only else _not_there(reached, on_source)),
            *(f"{topic} was not looked at, its copy is hidden: {why}" for topic, why in unseen.items()),
        )
        on_source -= unseen.keys()
    if missing := set(only) - on_source - on_target:
        raise Refused(
            f"{flow.subject} has no topic {sorted(missing)[0]!r} on {source.name} or {target.name}: correct --topics"
        )
    of_target = _held(target, on_target)
    of_source = _with_waiting(source, _held(source, on_source))
    at = clock.now()
    settings = [seen_settings(reached, *each) for each in ((source, on_source), (target, on_target))]
    configs = [each.configs for each in settings]
    return ResolvedRanges(
        at=at,
        source=of_source,
        target=of_target,
        positions=positions,
        epoch=epoch,
        compacted=compacted_topics(*configs),
        stamped=(stamped_topics(configs[0]), stamped_topics(configs[1])),
        observed=flow.observed,
        left_out=left_out,
        cautions=tuple(filter(None, map(_caution, (source, target), settings))),
    )


def _positions(watched: WatchedFlow | None) -> tuple[Mapping[TopicPartition, int] | None, int | None]:
    if watched is None or watched.status().state == "absent":
        return None, None
    where = watched.where()
    return where.next_to_read, where.seed_epoch


def _names(reached: ReachedFlow, cluster: FlowCluster, only: Collection[str]) -> set[str]:
    flow = reached.declared
    return {
        name
        for name in cluster.topics.names()
        if flow.covers_topic(name) and flow.copy_of(name) is not None and (not only or name in only)
    }


def _not_there(reached: ReachedFlow, names: Collection[str]) -> list[str]:
    """Say which topics an observed flow names that its source does not show."""
    flow, source = reached.declared, reached.source.name
    if not names:
        return [f"no topic of {flow.subject} was found on {source}: correct topics, or give its principal DESCRIBE"]
    why = f"{source} has no such topic, or DESCRIBE is missing"
    return [
        f"{name} was not looked at: {why if flow.copy_of(name) else 'it is never copied under this naming'}"
        for name in flow.topics
        if name not in names
    ]


def _caution(cluster: FlowCluster, found: SeenSettings) -> str:
    if not found.refused:
        return ""
    return (
        f"whether compaction is set on {counted(len(found.refused), 'topic')} of {cluster.name} is not known "
        f"({NOT_GRANTED}): a record "
        "that compaction removed counts as lost or foreign"
    )


def _with_waiting(source: KafkaCluster, found: ClusterRanges) -> ClusterRanges:
    held = source.held_back.look(found.hidden, named=False).partitions
    return replace(found, waiting_since={p: each.oldest_ms for p, each in held.items() if each.oldest_ms is not None})


def _held(cluster: FlowCluster, names: Iterable[str]) -> ClusterRanges:
    topics = cluster.topics.describe(names)
    wanted = [partition for topic in topics.values() for partition in topic.partitions]
    starts = cluster.topics.log_starts(wanted)
    # In this order, records that are appended meanwhile are never counted as hidden by a transaction.
    ends = cluster.topics.high_watermarks(wanted)
    stable = cluster.topics.last_stable_offsets(wanted)
    return ClusterRanges(
        cluster.topics.identity().cluster_id,
        topics,
        {p: OffsetRange(starts[p], max(starts[p], stable[p])) for p in wanted},
        {p: ends[p] - stable[p] for p in wanted if ends[p] > stable[p]},
    )
