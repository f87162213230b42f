"""Gathering what is known about partitions, from both clusters and the evidence root: a few requests, whatever the
number of groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.offsets.known_syncs import KnownSyncs
from kafka_dr.offsets.map_files import MapFiles
from kafka_dr.offsets.mirrormaker import CheckpointRule
from kafka_dr.offsets.placing import PartitionFacts
from kafka_dr.offsets.reading import both


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is known, and what is wrong with it.

    :param partitions: every partition that was asked for
    :param problems: a sentence each
    """

    partitions: Mapping[TopicPartition, PartitionFacts]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    ids: Mapping[str, str]
    held: Mapping[TopicPartition, OffsetRange]
    silent: bool = False


def gather(
    source: KafkaCluster,
    target: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    syncs: KnownSyncs,
    maps: MapFiles,
) -> Gathered:
    """Gather the facts about partitions.

    :param source: as operator or audit; one that does not answer leaves its ends unknown
    :param target: as operator or audit
    :raises ClusterError: the target does not answer
    """
    wanted = set(partitions)
    # Ends are asked for after the syncs: what a sync speaks of lies below them.
    known = syncs.read({p.topic for p in wanted})
    here, there = both(lambda: _source_side(source, wanted), lambda: _side(target, wanted))
    ids = {topic: (here.ids.get(topic, ""), topic_id) for topic, topic_id in there.ids.items()}
    read = maps.read(source.name, target.name, topic_ids=ids)
    problems = (f"{source.name} does not answer: its ends are not known",) if here.silent else ()
    return Gathered(
        {
            p: PartitionFacts(
                here.held.get(p),
                there.held.get(p),
                runs=read.of(p),
                syncs=known.of(p),
                mirrormaker=CheckpointRule(known.written.get(p, ())),
                caution=read.cautions.get(p, ""),
            )
            for p in wanted
        },
        (*problems, *known.problems, *read.problems),
    )


def _source_side(source: KafkaCluster, wanted: Collection[TopicPartition]) -> _Side:
    try:
        return _side(source, wanted)
    except TryAgain:
        return _Side({}, {}, silent=True)


def _side(cluster: KafkaCluster, wanted: Collection[TopicPartition]) -> _Side:
    topics = cluster.topics.describe({p.topic for p in wanted} & cluster.topics.names())
    there = [p for p in wanted if p.topic in topics and p.partition < len(topics[p.topic].leaders)]
    ends, starts = both(lambda: cluster.topics.high_watermarks(there), lambda: cluster.topics.log_starts(there))
    return _Side(
        {name: topic.topic_id for name, topic in topics.items()},
        {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in there},
    )
