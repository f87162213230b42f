"""Gathering what is known about partitions, from both clusters and the evidence root: a few requests, whatever the
number of groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.offsets.maps import NOTHING as NO_RUNS
from kafka_dr.offsets.maps import MapFiles, VerifiedRuns
from kafka_dr.offsets.syncs.archive import KnownSyncs
from kafka_dr.offsets.syncs.history import NOTHING as NO_SYNCS
from kafka_dr.offsets.syncs.history import ArchivedSync, History
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.read_logs import both
from kafka_dr.positions import OffsetPair

_SLOTS = 64


class CheckpointRule:
    """The syncs of one partition, as a checkpoint task that never restarted holds them.

    :param syncs: in the order in which they were written
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
        """Return its answer for a position; both are next to read.

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


def _near_enough(newer: OffsetPair, older: OffsetPair, newer_slot: int, older_slot: int) -> bool:
    return newer.source <= older.source + (1 << older_slot) - (1 << newer_slot)


def _far_enough(newer: OffsetPair, older: OffsetPair, newer_slot: int) -> bool:
    return newer == older or newer.source >= older.source + (1 << max(newer_slot - 2, 0))


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known about one partition.

    :param source: the offsets that it holds: its start, and its end, next to be written; the last ones seen where the
        source is gone; ``None`` where nobody knows them
    :param target: the same of the target; ``None`` where the partition does not exist there
    :param runs: what audits matched
    :param syncs: of both directions
    :param mirrormaker: what MirrorMaker's own checkpoint task knows
    :param caution: why the map is not relied on, such as open findings of an audit; empty where it is
    """

    source: OffsetRange | None
    target: OffsetRange | None
    runs: VerifiedRuns = NO_RUNS
    syncs: History = NO_SYNCS
    mirrormaker: CheckpointRule | None = None
    caution: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A position's place, beside what MirrorMaker itself would have chosen.

    :param mirrormaker: next to read on the target; ``None`` where it writes none, and ``auto.offset.reset`` decides
    :param mirrormaker_again: records that it would deliver again, at most; ``None`` where nobody knows
    """

    translation: Translation
    mirrormaker: int | None
    mirrormaker_again: int | None


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
