"""What is known about partitions before a record is read: a few requests, whatever the number of groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafka_dr.clusters import KafkaCluster
from kafka_dr.errors import TryAgain
from kafka_dr.offsets.maps import NO_RUNS, MapStore, VerifiedRuns
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.syncs.history import NOTHING as NO_SYNCS
from kafka_dr.offsets.syncs.history import ArchivedSync, History
from kafka_dr.offsets.translate.read_logs import both
from kafka_dr.positions import OffsetPair, OffsetRange, TopicPartition

_SLOTS = 64


class CheckpointRule:
    """What MirrorMaker's own checkpoint task would make of an offset, so that its answer can be compared with ours.

    The task keeps at most 64 syncs of a partition in memory: many new ones and few old ones. Its answer is the offset
    after the nearest sync below. This is that rule, applied to the archive instead of the topic: what a task knows that
    never restarted. A task that restarted may know less, because the topic is compacted. So this is its best answer.

    :param syncs: of one partition, in the order in which they were written
    """

    def __init__(self, syncs: Iterable[ArchivedSync | OffsetPair] = ()) -> None:
        self._slots: list[OffsetPair] = []
        for sync in syncs:
            self._take(OffsetPair(sync.source, sync.target))

    @property
    def kept(self) -> tuple[OffsetPair, ...]:
        """The syncs that are still held, newest first."""
        return tuple(dict.fromkeys(self._slots))

    def translate(self, position: int) -> int | None:
        """Return its answer for an offset; both are next to read.

        :returns: ``None`` where it writes no checkpoint: without any sync, or before the oldest that it still holds
        """
        for sync in self._slots:
            if sync.source <= position:
                return sync.target if sync.source == position else sync.target + 1
        return None

    def _take(self, sync: OffsetPair) -> None:
        if not self._slots or self._slots[0].source > sync.source:
            self._slots = [sync] * _SLOTS
            return
        replacement, discarded = sync, self._slots[0]
        self._slots[0] = sync
        for number in range(1, _SLOTS):
            if self._still_fits(discarded, number):
                replacement = discarded
            if _near_enough(self._slots[number - 1], self._slots[number], number - 1, number):
                return
            discarded, self._slots[number] = self._slots[number], replacement

    def _still_fits(self, sync: OffsetPair, number: int) -> bool:
        """Return whether a sync that lost its slot may have the next one."""
        before, following = self._slots[number - 1], number + 1
        return (
            _near_enough(before, sync, number - 1, number)
            and _far_enough(before, sync, number - 1)
            and (following >= _SLOTS or _far_enough(sync, self._slots[following], number))
        )


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known about one partition.

    :param source: the offsets that it holds: log start, and high watermark; the last ones seen if the source is gone;
        ``None`` if they are not known
    :param target: the same of the target; ``None`` if the partition does not exist there
    :param runs: what audits matched
    :param syncs: of both directions
    :param mirrormaker: what MirrorMaker's own checkpoint task knows
    :param caution: why the map is not relied on, such as open findings of an audit; empty if it is relied on
    """

    source: OffsetRange | None
    target: OffsetRange | None
    runs: VerifiedRuns = NO_RUNS
    syncs: History = NO_SYNCS
    mirrormaker: CheckpointRule | None = None
    caution: str = ""

    @property
    def is_on_both_clusters(self) -> bool:
        """Whether both clusters hold the partition, so that records can be compared."""
        return self.source is not None and self.target is not None


@dataclass(frozen=True, slots=True)
class GatheredFacts:
    """What is known, and what is wrong with it.

    :param partitions: every partition that was asked for
    :param problems: a sentence each
    """

    partitions: Mapping[TopicPartition, PartitionFacts]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ClusterFacts:
    ids: Mapping[str, str]
    held: Mapping[TopicPartition, OffsetRange]
    silent: bool = False


def gather(
    source: KafkaCluster,
    target: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    syncs: SyncLookup,
    maps: MapStore,
) -> GatheredFacts:
    """Gather the facts about partitions.

    :param source: as operator or audit; if it does not answer, its ends are not known
    :param target: as operator or audit
    :raises ClusterError: the target does not answer
    """
    wanted = set(partitions)
    # Log ends are asked for after the syncs, so that the record of each sync is below them.
    known = syncs.read({p.topic for p in wanted})
    on_source, on_target = both(lambda: _of_source(source, wanted), lambda: _of(target, wanted))
    read = maps.read({topic: (on_source.ids.get(topic, ""), topic_id) for topic, topic_id in on_target.ids.items()})
    problems = (f"{source.name} does not answer: its ends are not known",) if on_source.silent else ()
    return GatheredFacts(
        {
            p: PartitionFacts(
                on_source.held.get(p),
                on_target.held.get(p),
                runs=read.of(p),
                syncs=known.of(p),
                mirrormaker=CheckpointRule(known.written.get(p, ())),
                caution=read.cautions.get(p, ""),
            )
            for p in wanted
        },
        (*problems, *known.problems, *read.problems),
    )


def _of_source(source: KafkaCluster, wanted: Collection[TopicPartition]) -> _ClusterFacts:
    try:
        return _of(source, wanted)
    except TryAgain:
        return _ClusterFacts({}, {}, silent=True)


def _of(cluster: KafkaCluster, wanted: Collection[TopicPartition]) -> _ClusterFacts:
    topics = cluster.topics.describe({p.topic for p in wanted} & cluster.topics.names())
    existing = [p for p in wanted if p.topic in topics and p.partition < len(topics[p.topic].leaders)]
    ends, starts = both(lambda: cluster.topics.high_watermarks(existing), lambda: cluster.topics.log_starts(existing))
    return _ClusterFacts(
        {name: topic.topic_id for name, topic in topics.items()},
        {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in existing},
    )


def _near_enough(newer: OffsetPair, older: OffsetPair, newer_slot: int, older_slot: int) -> bool:
    return newer.source <= older.source + (1 << older_slot) - (1 << newer_slot)


def _far_enough(newer: OffsetPair, older: OffsetPair, newer_slot: int) -> bool:
    return newer == older or newer.source >= older.source + (1 << max(newer_slot - 2, 0))
