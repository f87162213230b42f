"""What a lag audit asks before anything is read: the clusters, and what its target stores of the flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from jobs.flows import ReachedFlow, flow_of
from jobs.lag.groups import seen_groups
from kafka_dr.clock import Clock
from kafka_dr.clusters import ClusterError, KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.clusters.held_back import HeldBackLook
from kafka_dr.clusters.renamed import FlowCluster, plain
from kafka_dr.lag.assessment import GroupSeen, HeldRecords, PartitionSeen
from kafka_dr.lag.report import UnjudgedGroup
from kafka_dr.lag.retention import Retention
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowState, WatchedFlow

#: The partition of MirrorMaker's topic of offset syncs; it has no other.
SYNCS = 0
#: How many of the newest offset syncs are looked through.
MOST_SYNCS = 20_000


@dataclass(frozen=True, slots=True)
class LagFacts:
    """Everything except the content of records.

    :param state: of the flow; ``observed`` if somebody else runs the flow, and nobody can be asked
    :param epoch: of the flow's seed; ``None`` for a flow that was never seeded
    :param at: when the ends were read: after the positions, so that no lag is reported too small
    :param partitions: of the source, without what has to be read
    :param unjudged: the groups of which no committed offset says where they are
    :param syncs: the newest offset syncs on the target; ``None`` if they cannot be read
    :param syncs_missing: why not; empty if they can
    :param left_out: a sentence for each thing that was not looked at
    :param cautions: a sentence for each thing that is not known of what was looked at
    """

    state: FlowState | Literal["observed"]
    epoch: int | None
    at: datetime
    partitions: tuple[PartitionSeen, ...]
    groups: tuple[GroupSeen, ...]
    unjudged: tuple[UnjudgedGroup, ...]
    syncs: tuple[TopicPartition, OffsetRange] | None
    syncs_missing: str
    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def active(self) -> bool | None:
        """Whether the flow runs; ``None`` if that is not known, or is changing."""
        return {"running": True, "stopped": False, "failed": False, "absent": False, "paused": False}.get(self.state)


def ask(found: ReachedFlow, watched: WatchedFlow, *, clock: Clock) -> LagFacts:
    """Ask the clusters, and what its target stores of the flow, as audit.

    :raises KafkaDrError: one of them does not answer or refuses
    """
    flow, source = found.declared, found.source
    state, where = watched.status().state, watched.where()
    groups = seen_groups(flow, source)
    if groups.refused:
        raise groups.refused[min(groups.refused)]
    topics = source.topics.describe(name for name in source.topics.names() if flow.covers_topic(name))
    ids = {name: topic.topic_id for name, topic in topics.items()}
    held = source.held_back.look((p for topic in topics.values() for p in topic.partitions), named=False)
    seen = partitions_seen(topics, source, source.topics.configs(topics), ids, where.next_to_read)
    at = clock.now()
    partitions = tuple(replace(each, held=held_records(held, each, at)) for each in seen)
    syncs, missing = _syncs(flow_of(flow), found.target)
    return LagFacts(
        state,
        where.seed_epoch,
        at,
        partitions,
        groups.seen,
        groups.unjudged,
        syncs,
        missing,
        cautions=cautions_about(held),
    )


def held_records(held: HeldBackLook, seen: PartitionSeen, at: datetime) -> HeldRecords:
    """Return what is held back in a partition, without what can be copied by now."""
    of = held.of(TopicPartition(*seen.place))
    certain = sum(
        max(0, each.end - max(each.start, seen.stable_end)) for p in of.partitions.values() for each in p.acknowledged
    )
    return HeldRecords(
        certain + of.not_read, of.age_seconds(at) if certain + of.not_read else 0.0, exact=not of.not_read
    )


def cautions_about(held: HeldBackLook) -> tuple[str, ...]:
    """Say what open transactions hold back, if they do."""
    return (held.sentence,) if held.sentence else ()


def partitions_seen(
    topics: Mapping[str, Topic],
    source: KafkaCluster,
    configs: Mapping[str, Mapping[str, str]],
    ids: Mapping[str, str],
    positions: Mapping[TopicPartition, int],
) -> tuple[PartitionSeen, ...]:
    """Ask the source where its logs begin and end.

    :param configs: by topic; one that is not known has no limit
    :param ids: by topic, what changes when its records are others
    :param positions: next to be copied
    """
    wanted = [partition for topic in topics.values() for partition in topic.partitions]
    starts = source.topics.log_starts(wanted)
    stable, ends = source.topics.last_stable_offsets(wanted), source.topics.high_watermarks(wanted)
    return tuple(
        PartitionSeen(
            topic=p.topic,
            partition=p.partition,
            topic_id=ids[p.topic],
            start=starts[p],
            stable_end=max(stable[p], starts[p]),
            end=max(ends[p], stable[p]),
            position=positions.get(p),
            retention=Retention.of(configs[p.topic]) if p.topic in configs else Retention(),
        )
        for p in sorted(wanted)
    )


def _syncs(flow: Flow, target: FlowCluster) -> tuple[tuple[TopicPartition, OffsetRange] | None, str]:
    syncs = TopicPartition(f"mm2-offset-syncs.{flow.source}.internal", SYNCS)
    topics = plain(target).topics
    try:
        start, end = topics.log_starts([syncs])[syncs], topics.last_stable_offsets([syncs])[syncs]
    except ClusterError as error:
        return None, f"the offset syncs on {flow.target} cannot be read ({error})"
    return (syncs, OffsetRange(max(start, end - MOST_SYNCS), max(start, end))), ""
