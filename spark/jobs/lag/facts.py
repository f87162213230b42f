"""What a lag audit asks before anything is read: the clusters, and what Connect stores of the flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.clock import Clock
from kafka_dr.clusters import ClusterError, KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.lag import GroupSeen, PartitionSeen, Retention
from kafka_dr.replication import Flow, FlowState, WatchedFlow
from kafka_dr.topology import ProtectionGroup

#: The partition of MirrorMaker's topic of offset syncs; it has no other.
SYNCS = 0
#: How many of the newest offset syncs are looked through.
MOST_SYNCS = 20_000


@dataclass(frozen=True, slots=True)
class LagFacts:
    """Everything except the content of records.

    :param state: of the flow's connector
    :param epoch: of the flow's seed; ``None`` for a flow that was never seeded
    :param at: when the ends were read: after the positions, so that no lag is reported too small
    :param partitions: of the source, without what has to be read
    :param syncs: the newest offset syncs on the target; ``None`` if they cannot be read
    :param syncs_missing: why not; empty if they can
    """

    state: FlowState
    epoch: int | None
    at: datetime
    partitions: tuple[PartitionSeen, ...]
    groups: tuple[GroupSeen, ...]
    syncs: tuple[TopicPartition, OffsetRange] | None
    syncs_missing: str

    @property
    def active(self) -> bool | None:
        """Whether the flow's connector runs; ``None`` if that is not known, or is changing."""
        return {"running": True, "stopped": False, "failed": False, "absent": False, "paused": False}.get(self.state)


def ask(
    group: ProtectionGroup, watched: WatchedFlow, *, source: KafkaCluster, target: KafkaCluster, clock: Clock
) -> LagFacts:
    """Ask the clusters, and what Connect stores of the flow, as audit.

    :raises KafkaDrError: one of them does not answer or refuses
    """
    flow = watched.flow
    state, where = watched.status().state, watched.where()
    groups = _groups(group, source)
    topics = source.topics.describe(name for name in source.topics.names() if group.owns_topic(name))
    partitions = _partitions(topics, where.next_to_read, source)
    at = clock.now()
    syncs, missing = _syncs(flow, target)
    return LagFacts(state, where.seed_epoch, at, partitions, groups, syncs, missing)


def _partitions(
    topics: Mapping[str, Topic], positions: Mapping[TopicPartition, int], source: KafkaCluster
) -> tuple[PartitionSeen, ...]:
    wanted = [partition for topic in topics.values() for partition in topic.partitions]
    starts = source.topics.log_starts(wanted)
    stable, ends = source.topics.last_stable_offsets(wanted), source.topics.high_watermarks(wanted)
    configs = source.topics.configs(topics)
    return tuple(
        PartitionSeen(
            topic=p.topic,
            partition=p.partition,
            topic_id=topics[p.topic].topic_id,
            start=starts[p],
            stable_end=max(stable[p], starts[p]),
            end=max(ends[p], stable[p]),
            position=positions.get(p),
            retention=Retention.of(configs[p.topic]),
        )
        for p in sorted(wanted)
    )


def _groups(group: ProtectionGroup, source: KafkaCluster) -> tuple[GroupSeen, ...]:
    names = [name for name in source.groups.names() if group.owns_group(name)]
    states, offsets = source.groups.states(names), source.groups.offsets(names, require_stable=False)
    return tuple(
        GroupSeen(name, states[name].state, {(p.topic, p.partition): offset for p, offset in offsets[name].items()})
        for name in sorted(names)
    )


def _syncs(flow: Flow, target: KafkaCluster) -> tuple[tuple[TopicPartition, OffsetRange] | None, str]:
    syncs = TopicPartition(f"mm2-offset-syncs.{flow.source}.internal", SYNCS)
    try:
        start, end = target.topics.log_starts([syncs])[syncs], target.topics.last_stable_offsets([syncs])[syncs]
    except ClusterError as error:
        return None, f"the offset syncs on {flow.target} cannot be read ({error})"
    return (syncs, OffsetRange(max(start, end - MOST_SYNCS), max(start, end))), ""
