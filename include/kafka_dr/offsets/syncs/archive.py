"""Offset syncs: read from the topics that MirrorMaker writes them to, archived, and looked up.

Offset syncs of MirrorMaker 2, as bytes::

    key    topic STRING, partition INT32
    value  upstream INT64, downstream INT64

All numbers are big endian; STRING is an INT16 length and that many bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from struct import error as StructError
from struct import unpack, unpack_from
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.clusters import NotFound, OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster, RenamedCluster, plain
from kafka_dr.errors import KafkaDrError, Unanswered
from kafka_dr.offsets.syncs.files import SyncArchive, SyncRow
from kafka_dr.offsets.syncs.history import ArchivedSync, ArchivedSyncs, composed
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetPair

#: Offsets of the topic of syncs that are kept in one file at most; it limits the memory that is needed.
_STRIDE = 500_000


@dataclass(frozen=True, slots=True)
class ArchiveProgress:
    """What one look at a topic of syncs added to the archive.

    :param archived: syncs
    :param missed: offsets of the topic that no longer held a sync: compacted before it was archived, or written by
        another program
    :param reached: next to read in the topic of syncs
    """

    archived: int = 0
    missed: int = 0
    reached: int = 0
    topic_id: str = ""


def extend(archive: SyncArchive, *, source: FlowCluster | None, target: FlowCluster) -> ArchiveProgress:
    """Keep every sync that is not archived yet.

    :param source: is asked for its topic ids; if ``None``, or if it does not answer, they stay empty
    :param target: holds the topic of syncs; both are reached as audit
    :raises ClusterError: the target does not answer, or the topic of syncs may not be read
    """
    found = _look(archive.source, target)
    if found is None:
        return ArchiveProgress()
    topic_id, held = found
    position = max(archive.reached(topic_id), held.start)
    archived = missed = 0
    while position < held.end:
        stretch = OffsetRange(position, min(held.end, position + _STRIDE))
        syncs = read_syncs(target, sync_topic(archive.source), stretch)
        ids = _topic_ids({partition.topic for partition, _ in syncs}, source, target)
        rows = [SyncRow(partition, sync, ids[partition.topic]) for partition, sync in syncs]
        archive.extend(topic_id, rows, first=position, end=stretch.end)
        archived, missed, position = archived + len(rows), missed + len(stretch) - len(rows), stretch.end
    return ArchiveProgress(archived, missed, position, topic_id)


def archived_and_newer(
    archive: SyncArchive, topic_ids: Mapping[str, tuple[str, str]], *, target: FlowCluster
) -> ArchivedSyncs:
    """Return what the archive says about topics, together with the syncs that it does not hold yet.

    :param topic_ids: of these topics: what they are now, on source and target; an empty id is not compared
    :param target: holds the topic of syncs, reached as audit
    """
    found = _look(archive.source, target)
    known = archive.read(topic_ids, topic_ids=topic_ids, sync_topic_id=found[0] if found else None)
    if found is None:
        return known
    _, held = found
    begin = max(known.reached or 0, held.start)
    newer: dict[TopicPartition, list[ArchivedSync]] = {}
    if begin < held.end:
        for partition, sync in read_syncs(target, sync_topic(archive.source), OffsetRange(begin, held.end)):
            if partition.topic in topic_ids:
                newer.setdefault(partition, []).append(sync)
    return known.with_newer(newer, begin=begin)


def read_syncs(target: FlowCluster, topic: str, stretch: OffsetRange) -> list[tuple[TopicPartition, ArchivedSync]]:
    """Read a stretch of a topic of syncs; a record that MirrorMaker did not write is skipped."""
    found = []
    for record in plain(target).log.read({TopicPartition(topic, 0): stretch}):
        try:
            decoded = decode_sync(record.key, record.value)
        except Undecodable:
            continue
        if decoded is not None:
            partition, pair = decoded
            found.append((partition, ArchivedSync(record.offset, *pair, record.timestamp_ms)))
    return found


def _look(source: str, target: FlowCluster) -> tuple[str, OffsetRange] | None:
    """Return id and offsets of the topic of syncs; ``None`` if no flow ever wrote in that direction."""
    topic, topics = sync_topic(source), plain(target).topics
    partition = TopicPartition(topic, 0)
    try:
        described = topics.describe([topic])[topic]
        start = topics.log_starts([partition])[partition]
        end = topics.last_stable_offsets([partition])[partition]
    except NotFound:
        return None
    return described.topic_id, OffsetRange(start, max(start, end))


def _topic_ids(topics: Collection[str], source: FlowCluster | None, target: FlowCluster) -> dict[str, tuple[str, str]]:
    source_ids = _ids(topics, source) if source is not None else {}
    target_ids = _ids(topics, target)
    return {topic: (source_ids.get(topic, ""), target_ids.get(topic, "")) for topic in topics}


def _ids(topics: Collection[str], cluster: FlowCluster) -> dict[str, str]:
    try:
        described = cluster.topics.existing(topics)
    except (Unanswered, NotFound):
        return {}
    return {name: topic.topic_id for name, topic in described.items()}


@dataclass(frozen=True, slots=True)
class SyncLookup:
    """Looks up what offset syncs say between two clusters, whichever direction wrote them.

    :param source: as audit; if it does not answer, its newest syncs are left out, which is reported
    :param target: as audit
    :param root: the evidence root
    :param cluster_ids: of source and target, as declared, so that what is archived of a dead source can be read
    """

    source: FlowCluster
    target: FlowCluster
    root: Any
    cluster_ids: tuple[str, str]

    def read(self, topics: Collection[str]) -> ArchivedSyncs:
        """Return what is known about topics. Its ``syncs`` are those of the flow from source to target alone.

        They are complete and in order: what MirrorMaker itself would read.
        """
        wanted = set(topics)
        on_source, on_target = at_once(lambda: _ids(wanted, self.source), lambda: _ids(wanted, self.target))
        ids = {topic: (on_source.get(topic, ""), on_target.get(topic, "")) for topic in wanted}
        reversed_ids = {topic: (target_id, source_id) for topic, (source_id, target_id) in ids.items()}
        names, clusters = (self.source.name, self.target.name), self.cluster_ids
        forth = SyncArchive(self.root, source=names[0], target=names[1], cluster_ids=clusters)
        back = SyncArchive(self.root, source=names[1], target=names[0], cluster_ids=(clusters[1], clusters[0]))
        # Where a copy has another name than its original, the other direction is about other logs.
        none = ArchivedSyncs()
        written, reverse = at_once(
            lambda: none if _has_copies(self.source) else _as_far_as_known(forth, ids, self.target),
            lambda: none if _has_copies(self.target) else _as_far_as_known(back, reversed_ids, self.source),
        )
        return ArchivedSyncs(
            {p: composed(written.of(p), reverse.of(p)) for p in written.histories.keys() | reverse.histories.keys()},
            written.syncs,
            (*written.problems, *reverse.problems),
        )


def _has_copies(cluster: FlowCluster) -> bool:
    return isinstance(cluster, RenamedCluster)


def _as_far_as_known(
    archive: SyncArchive, topic_ids: Mapping[str, tuple[str, str]], holder: FlowCluster
) -> ArchivedSyncs:
    """Return what is archived alone, and say so, if the cluster that holds the topic of syncs does not answer."""
    try:
        return archived_and_newer(archive, topic_ids, target=holder)
    except KafkaDrError as error:
        kept = archive.read(topic_ids, topic_ids=topic_ids)
        problem = f"the newest syncs of {archive.source}-to-{archive.target} are not known: {error}"
        return replace(kept, problems=(*kept.problems, problem))


class Undecodable(KafkaDrError):
    """The bytes are no offset sync of MirrorMaker 2."""


def sync_topic(source: str) -> str:
    """Return the topic, on the target, with the offset syncs of a flow that reads ``source``."""
    return f"mm2-offset-syncs.{source}.internal"


def decode_sync(key: bytes | None, value: bytes | None) -> tuple[TopicPartition, OffsetPair] | None:
    """Decode an offset sync: the partition of a record that was copied, and its offsets on both clusters.

    :returns: ``None`` for a tombstone
    :raises Undecodable: it is not an offset sync
    """
    if value is None:
        return None
    try:
        (length,) = unpack_from(">h", key or b"")
        # A length that does not fit what follows, or is negative, is refused by ``unpack``, as is anything left over.
        topic, number = unpack(f">{length}si", (key or b"")[2:])
        return TopicPartition(topic.decode(), number), OffsetPair(*unpack(">qq", value))
    except (StructError, UnicodeDecodeError) as error:
        shown = f"key {(key or b'')[:40].hex() or 'missing'}, value {value[:40].hex() or 'empty'}"
        raise Undecodable(f"this is not an offset sync of MirrorMaker 2 ({cause(error)}): {shown}") from error
