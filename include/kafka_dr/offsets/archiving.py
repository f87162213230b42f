"""Bringing the archive of offset syncs up to date with the topic that MirrorMaker writes them to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters import KafkaCluster, NotFound, OffsetRange, TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.offsets.archive import ArchivedSync
from kafka_dr.offsets.sync_files import Archived, SyncArchive, SyncRow
from kafka_dr.offsets.syncs import OffsetSync, Undecodable, decode_sync, sync_topic

#: Offsets of the topic of syncs that are kept in one file at most; memory is bounded by it.
_STRIDE = 500_000


@dataclass(frozen=True, slots=True)
class SyncFlow:
    """Both ends of the flows whose syncs are archived together: all those with the same source and target.

    :param source_cluster_id: as declared, so that a dead source can still be read about
    :param target_cluster_id: as declared
    """

    source: str
    target: str
    source_cluster_id: str
    target_cluster_id: str

    def archive(self, root: Any) -> SyncArchive:
        """Return where their syncs are kept.

        :param root: the evidence root
        """
        ids = (self.source_cluster_id, self.target_cluster_id)
        return SyncArchive(root, source=self.source, target=self.target, cluster_ids=ids)


@dataclass(frozen=True, slots=True)
class Extended:
    """What one look at a topic of syncs added to the archive.

    :param archived: syncs
    :param missed: offsets of the topic that no longer held a sync: compacted away before anybody looked, or foreign
    :param reached: next to read in the topic of syncs
    """

    archived: int = 0
    missed: int = 0
    reached: int = 0
    topic_id: str = ""


def extend(flow: SyncFlow, *, root: Any, source: KafkaCluster | None, target: KafkaCluster) -> Extended:
    """Keep every sync that is not archived yet.

    :param root: the evidence root
    :param source: tells the topics' ids there; ``None``, or one that does not answer, leaves those open
    :param target: holds the topic of syncs; both are reached as audit
    :raises ClusterError: the target does not answer, or the topic of syncs may not be read
    """
    found = _look(flow, target)
    if found is None:
        return Extended()
    topic_id, held = found
    archive = flow.archive(root)
    position = max(archive.reached(topic_id), held.start)
    archived = missed = 0
    while position < held.end:
        stretch = OffsetRange(position, min(held.end, position + _STRIDE))
        syncs = read_syncs(target, sync_topic(flow.source), stretch)
        ids = _topic_ids({sync.topic_partition.topic for _, sync in syncs}, source, target)
        rows = [SyncRow(sync.topic_partition, kept, ids[sync.topic_partition.topic]) for kept, sync in syncs]
        archive.extend(topic_id, rows, first=position, end=stretch.end)
        archived, missed, position = archived + len(rows), missed + len(stretch) - len(rows), stretch.end
    return Extended(archived, missed, position, topic_id)


def archived_and_newer(
    flow: SyncFlow,
    topics: Collection[str],
    *,
    root: Any,
    target: KafkaCluster,
    topic_ids: Mapping[str, tuple[str, str]],
) -> Archived:
    """Return what the archive says about topics, together with the syncs that it does not hold yet.

    :param topic_ids: what the topics are now, on source and target
    """
    found = _look(flow, target)
    archive = flow.archive(root)
    known = archive.read(topics, topic_ids=topic_ids, sync_topic_id=found[0] if found else None)
    if found is None:
        return known
    _, held = found
    begin = max(known.reached or 0, held.start)
    newer: dict[TopicPartition, list[ArchivedSync]] = {}
    if begin < held.end:
        for kept, sync in read_syncs(target, sync_topic(flow.source), OffsetRange(begin, held.end)):
            if sync.topic_partition.topic in topics:
                newer.setdefault(sync.topic_partition, []).append(kept)
    return known.with_newer(newer, begin=begin)


def read_syncs(target: KafkaCluster, topic: str, stretch: OffsetRange) -> list[tuple[ArchivedSync, OffsetSync]]:
    """Read a stretch of a topic of syncs; a record that is none of MirrorMaker's is passed over."""
    found = []
    for record in target.log.read({TopicPartition(topic, 0): stretch}):
        try:
            sync = decode_sync(record.key, record.value)
        except Undecodable:
            continue
        if sync is not None:
            kept = ArchivedSync(record.offset, sync.source_offset, sync.target_offset, record.timestamp_ms)
            found.append((kept, sync))
    return found


def _look(flow: SyncFlow, target: KafkaCluster) -> tuple[str, OffsetRange] | None:
    """Return id and offsets of the topic of syncs; ``None`` where no flow ever wrote that way."""
    topic = sync_topic(flow.source)
    partition = TopicPartition(topic, 0)
    try:
        described = target.topics.describe([topic])[topic]
        start = target.topics.log_starts([partition])[partition]
        end = target.topics.last_stable_offsets([partition])[partition]
    except NotFound:
        return None
    return described.topic_id, OffsetRange(start, max(start, end))


def _topic_ids(
    topics: Collection[str], source: KafkaCluster | None, target: KafkaCluster
) -> dict[str, tuple[str, str]]:
    here = _ids(topics, source) if source is not None else {}
    there = _ids(topics, target)
    return {topic: (here.get(topic, ""), there.get(topic, "")) for topic in topics}


def _ids(topics: Collection[str], cluster: KafkaCluster) -> dict[str, str]:
    try:
        described = cluster.topics.describe(set(topics) & cluster.topics.names())
    except (TryAgain, NotFound):
        return {}
    return {name: topic.topic_id for name, topic in described.items()}
