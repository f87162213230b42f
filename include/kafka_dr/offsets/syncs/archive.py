"""Offset syncs: read from the topics that MirrorMaker writes them to, archived, and looked up.

Offset syncs of MirrorMaker 2, as bytes::

    key    topic STRING, partition INT32
    value  upstream INT64, downstream INT64

All numbers are big endian; STRING is an INT16 length and that many bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from struct import error as StructError
from struct import unpack_from
from typing import Any

from kafka_dr.clusters import KafkaCluster, NotFound, OffsetRange, TopicPartition
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.offsets.syncs.files import SyncArchive, SyncRow
from kafka_dr.offsets.syncs.history import NOTHING, ArchivedSync, ArchivedSyncs, History, composed
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetPair

#: Offsets of the topic of syncs that are kept in one file at most; it limits the memory that is needed.
_STRIDE = 500_000


@dataclass(frozen=True, slots=True)
class SyncFlow:
    """Source and target of the flows whose syncs are archived together: all those with the same source and target.

    :param source_cluster_id: as declared, so that what is archived of a dead source can be read
    :param target_cluster_id: as declared
    """

    source: str
    target: str
    source_cluster_id: str
    target_cluster_id: str

    def archive(self, root: Any) -> SyncArchive:
        """Return the archive of their syncs.

        :param root: the evidence root
        """
        ids = (self.source_cluster_id, self.target_cluster_id)
        return SyncArchive(root, source=self.source, target=self.target, cluster_ids=ids)


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


def extend(flow: SyncFlow, *, root: Any, source: KafkaCluster | None, target: KafkaCluster) -> ArchiveProgress:
    """Keep every sync that is not archived yet.

    :param root: the evidence root
    :param source: is asked for its topic ids; if ``None``, or if it does not answer, they stay empty
    :param target: holds the topic of syncs; both are reached as audit
    :raises ClusterError: the target does not answer, or the topic of syncs may not be read
    """
    found = _look(flow, target)
    if found is None:
        return ArchiveProgress()
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
    return ArchiveProgress(archived, missed, position, topic_id)


def archived_and_newer(
    flow: SyncFlow,
    topics: Collection[str],
    *,
    root: Any,
    target: KafkaCluster,
    topic_ids: Mapping[str, tuple[str, str]],
) -> ArchivedSyncs:
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
    """Read a stretch of a topic of syncs; a record that MirrorMaker did not write is skipped."""
    found = []
    for record in target.log.read({TopicPartition(topic, 0): stretch}):
        try:
            sync = decode_sync(record.key, record.value)
        except Undecodable:
            continue
        if sync is not None:
            kept = ArchivedSync(record.offset, *sync.pair, record.timestamp_ms)
            found.append((kept, sync))
    return found


def _look(flow: SyncFlow, target: KafkaCluster) -> tuple[str, OffsetRange] | None:
    """Return id and offsets of the topic of syncs; ``None`` if no flow ever wrote in that direction."""
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
    source_ids = _ids(topics, source) if source is not None else {}
    target_ids = _ids(topics, target)
    return {topic: (source_ids.get(topic, ""), target_ids.get(topic, "")) for topic in topics}


def _ids(topics: Collection[str], cluster: KafkaCluster) -> dict[str, str]:
    try:
        described = cluster.topics.describe(set(topics) & cluster.topics.names())
    except (TryAgain, NotFound):
        return {}
    return {name: topic.topic_id for name, topic in described.items()}


@dataclass(frozen=True, slots=True)
class FoundSyncs:
    """What is known about some partitions.

    :param written: what the flow from source to target wrote, in order and complete: what MirrorMaker itself would read
    :param problems: what is wrong with the archive, a sentence each
    """

    histories: Mapping[TopicPartition, History] = field(default_factory=dict)
    written: Mapping[TopicPartition, Sequence[ArchivedSync]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, partition: TopicPartition) -> History:
        """Return what is known of a partition."""
        return self.histories.get(partition, NOTHING)


@dataclass(frozen=True, slots=True)
class SyncLookup:
    """Looks up what offset syncs say between two clusters.

    :param source: as audit; if it does not answer, its newest syncs are left out, which is reported
    :param target: as audit
    :param root: the evidence root
    :param cluster_ids: of source and target, as declared
    """

    source: KafkaCluster
    target: KafkaCluster
    root: Any
    cluster_ids: tuple[str, str]

    def read(self, topics: Collection[str]) -> FoundSyncs:
        """Return what is known about topics."""
        wanted = set(topics)
        on_source, on_target = at_once(lambda: _ids(wanted, self.source), lambda: _ids(wanted, self.target))
        forward = SyncFlow(self.source.name, self.target.name, *self.cluster_ids)
        reverse = SyncFlow(self.target.name, self.source.name, *reversed(self.cluster_ids))
        forth, back = at_once(
            lambda: self._one_way(forward, self.target, wanted, on_source, on_target),
            lambda: self._one_way(reverse, self.source, wanted, on_target, on_source),
        )
        partitions = forth.histories.keys() | back.histories.keys()
        return FoundSyncs(
            {p: composed(forth.of(p), back.of(p)) for p in partitions},
            forth.syncs,
            (*forth.problems, *back.problems),
        )

    def _one_way(
        self,
        flow: SyncFlow,
        holder: KafkaCluster,
        topics: Collection[str],
        source_ids: Mapping[str, str],
        target_ids: Mapping[str, str],
    ) -> ArchivedSyncs:
        ids = {topic: (source_ids.get(topic, ""), target_ids.get(topic, "")) for topic in topics}
        try:
            return archived_and_newer(flow, topics, root=self.root, target=holder, topic_ids=ids)
        except KafkaDrError as error:
            kept = flow.archive(self.root).read(topics, topic_ids=ids)
            return kept.with_problem(f"the newest syncs of {flow.source}-to-{flow.target} are not known: {error}")


class Undecodable(KafkaDrError):
    """The bytes are no offset sync of MirrorMaker 2."""


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """One record that was copied, and the offsets *of* it on both clusters."""

    topic_partition: TopicPartition
    pair: OffsetPair


def sync_topic(source: str) -> str:
    """Return the topic, on the target, with the offset syncs of a flow that reads ``source``."""
    return f"mm2-offset-syncs.{source}.internal"


def decode_sync(key: bytes | None, value: bytes | None) -> OffsetSync | None:
    """Decode an offset sync.

    :returns: ``None`` for a tombstone
    :raises Undecodable: it is no offset sync
    """
    if value is None:
        return None
    fields = _Fields(key, "the key of an offset sync")
    partition = TopicPartition(fields.string(), fields.number(">i"))
    fields.end()
    fields = _Fields(value, "an offset sync")
    sync = OffsetSync(partition, OffsetPair(fields.number(">q"), fields.number(">q")))
    fields.end()
    return sync


class _Fields:
    """Reads one field after the other."""

    def __init__(self, content: bytes | None, what: str) -> None:
        if content is None:
            raise Undecodable(f"{what} is missing")
        self._content = content
        self._what = what
        self._at = 0

    def number(self, layout: str) -> int:
        """Read a signed number."""
        try:
            (value,) = unpack_from(layout, self._content, self._at)
        except StructError as error:
            raise Undecodable(f"{self._what} ends after {len(self._content)} bytes: {self._shown()}") from error
        self._at += {">h": 2, ">i": 4, ">q": 8}[layout]
        return int(value)

    def string(self) -> str:
        """Read a text; MirrorMaker has no null texts."""
        length = self.number(">h")
        content = self._content[self._at : self._at + length]
        if length < 0 or len(content) < length:
            raise Undecodable(f"{self._what} holds a text of length {length}: {self._shown()}")
        self._at += length
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"{self._what} holds a text that is not UTF-8: {self._shown()}") from error

    def end(self) -> None:
        """Refuse bytes that are left over."""
        if self._at != len(self._content):
            raise Undecodable(f"{self._what} has {len(self._content) - self._at} bytes too many: {self._shown()}")

    def _shown(self) -> str:
        return self._content[:40].hex()
