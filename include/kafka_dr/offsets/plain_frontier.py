"""The verified frontier, advanced by a plain client that reads both clusters.

Where two logs differ and one of the clusters compacts the topic, the partition is compared again by the rule of what
compaction may remove. All others are compared without a look at their keys.

Both logs are read in strides, all partitions at the same time, so the stride limits the memory that is needed. What was
matched is kept after each stride: an interrupted comparison continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kafka_dr.audit.compacted_walk import CompactedWalk
from kafka_dr.audit.compaction import CLEANUP, compacted_topics
from kafka_dr.audit.copies import Entry
from kafka_dr.audit.finding import FindingKind, Verified
from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier
from kafka_dr.audit.walk import PartitionWalk, Walk
from kafka_dr.clusters import Record, Topic
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.local_check import AROUND, check_locally
from kafka_dr.offsets.translate.proven_answers import ProvenAnswers
from kafka_dr.offsets.translate.read_logs import Ignored, entry_of, existing, held_by, keyed_entry_of, read_as
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, PartitionOffset, SeedPoint, TopicPartition

#: Of fewer records that were compared last, those around an offset say too little.
_ENOUGH = 3
#: How often the logs of a compacted topic are compared before a difference is a finding: cleaners work meanwhile.
_LOOKS = 2
#: Offsets of compacted topics that are read at once, about, on both clusters together.
_MOST_OFFSETS = 500_000
#: What compaction may explain.
_PERHAPS_COMPACTED = frozenset({FindingKind.LOST, FindingKind.FOREIGN, FindingKind.DIFFERENT})
_Answers = Mapping[PartitionOffset, Translation]
E = TypeVar("E")
W = TypeVar("W", bound=PartitionWalk)
#: What a cluster holds of a partition that it does not have.
_NOTHING = OffsetRange(0, 0)


@dataclass(frozen=True, slots=True)
class _ClusterLook:
    """One cluster, at one moment."""

    cluster: FlowCluster
    cluster_id: str
    topics: Mapping[str, Topic]

    def held(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, OffsetRange]:
        """Return the offsets that it holds of those of the partitions that it has."""
        return held_by(self.cluster, existing(self.topics, partitions))


class PlainFrontier:
    """Compares record by record, in lock step, from where it stopped the last time.

    :param source: reached as audit
    :param target: reached as audit
    :param store: keeps how far it got
    :param starts: where this direction began, by partition; others begin at the start of both logs
    :param epoch: whose seed that was; another epoch starts again
    :param ignored: ranges that are left out, on the source and on the target
    :param proven: learns where a group resumes that has read everything, if both logs were compared to their ends
    """

    def __init__(
        self,
        source: FlowCluster,
        target: FlowCluster,
        *,
        store: FileFrontierStore,
        starts: Mapping[TopicPartition, SeedPoint] | None = None,
        epoch: int = 0,
        ignored: tuple[Ignored, Ignored] | None = None,
        proven: ProvenAnswers | None = None,
    ) -> None:
        self._source = source
        self._target = target
        self._store = store
        self._starts = starts or {}
        self._epoch = epoch
        self._ignored = ignored or ({}, {})
        self._proven = ProvenAnswers() if proven is None else proven
        self._direction = f"{source.name}-to-{target.name}"

    def advance(self, until: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Verified]:
        """Compare further, up to these source offsets, and return how far each partition is verified."""
        if not until:
            return {}
        on_source, on_target = at_once(lambda: _look(self._source, until), lambda: _look(self._target, until))
        identity = (on_source.cluster_id, on_target.cluster_id, self._epoch)
        kept = self._kept(identity, _topic_ids(on_source, on_target), {p.topic for p in until})
        # What was verified up to its end before has no record to read, so what the logs hold does not matter.
        left = [p for p, end in until.items() if p not in kept or kept[p].source_offset < end]
        held, copied = at_once(lambda: on_source.held(left), lambda: on_target.held(left))
        plain = {
            p: Walk(
                p,
                until=end,
                point=kept.get(p),
                start=self._starts.get(p),
                source=held.get(p, _NOTHING),
                target=copied.get(p, _NOTHING),
            )
            for p, end in until.items()
        }
        walks: dict[TopicPartition, PartitionWalk] = {}
        logs = {p: RangePair(held[p], copied[p]) for p in held.keys() & copied.keys()}

        def compare(
            walking: Mapping[TopicPartition, W], step: Callable[[Mapping[TopicPartition, W]], _Answers]
        ) -> None:
            walks.update(walking)
            while left := {p: walk for p, walk in walking.items() if not walk.done}:
                answers = {at: answer for at, answer in step(left).items() if at[0] in logs}
                if answers:
                    self._proven.learn(self._direction, _topic_ids(on_source, on_target), answers, logs)
                self._keep(identity, on_source, on_target, kept | {p: walk.point for p, walk in walks.items()})

        compare(plain, self._advance)
        for _ in range(_LOOKS):
            differing = [p for p, walk in walks.items() if walk.finding and walk.finding.kind in _PERHAPS_COMPACTED]
            # Nothing is asked about topics without a difference: applications may wait.
            if not differing or not (compacted := self._compacted(differing)):
                break
            # What replaced a record may have been written since. What the target has by then, the source has, too.
            copied = on_target.held(compacted)
            held = on_source.held(compacted)
            logs |= {p: RangePair(held[p], copied[p]) for p in held.keys() & copied.keys()}
            compare(
                {
                    p: CompactedWalk(
                        p,
                        until=until[p],
                        point=None if walks[p].from_start else walks[p].point,
                        start=self._starts.get(p),
                        source=held.get(p, _NOTHING),
                        target=copied.get(p, _NOTHING),
                    )
                    for p in compacted
                },
                self._advance_compacted,
            )
        return {p: walk.verified for p, walk in walks.items()}

    def _compacted(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """Return those partitions whose topic either cluster compacts."""
        topics = {p.topic for p in partitions}
        both = at_once(*(partial(each.topics.settings, topics, [CLEANUP]) for each in (self._source, self._target)))
        compacted = compacted_topics(*both)
        return [p for p in partitions if p.topic in compacted]

    def _advance(self, walking: Mapping[TopicPartition, Walk]) -> _Answers:
        """Compare a stride of each partition; return the answers for the ends of logs that were compared to there."""
        entries, copies = self._read(entry_of, walking)
        answers: dict[PartitionOffset, Translation] = {}
        for partition, walk in walking.items():
            of_source, of_target = entries.get(partition, []), copies.get(partition, [])
            walk.look(of_source, of_target)
            answers |= _answer(walk, of_source, of_target)
        return answers

    def _advance_compacted(self, walking: Mapping[TopicPartition, CompactedWalk]) -> _Answers:
        """Compare a stride of as many partitions as fit into memory; the others follow."""
        room, fitting = _MOST_OFFSETS, {}
        for partition, walk in walking.items():
            fitting[partition] = walk
            room -= len(walk.source_window()) + len(walk.target_window())
            if room <= 0:
                break
        entries, copies = self._read(keyed_entry_of, fitting)
        answers: dict[PartitionOffset, Translation] = {}
        for partition, walk in fitting.items():
            of_source, of_target = entries.get(partition, []), copies.get(partition, [])
            walk.look(of_source, of_target)
            answers |= _answer(walk, *walk.compared)
        return answers

    def _read(
        self, made_of: Callable[[Record], E], walking: Mapping[TopicPartition, PartitionWalk]
    ) -> tuple[dict[TopicPartition, list[E]], dict[TopicPartition, list[E]]]:
        """Read what is compared next of both clusters."""
        on_source = {p: [walk.source_window()] for p, walk in walking.items()}
        on_target = {p: [walk.target_window()] for p, walk in walking.items()}
        return at_once(
            lambda: read_as(made_of, self._source, on_source, self._ignored[0]),
            lambda: read_as(made_of, self._target, on_target, self._ignored[1]),
        )

    def _kept(
        self, identity: tuple[str, str, int], ids: Mapping[str, tuple[str, str]], asked: Collection[str]
    ) -> dict[TopicPartition, FrontierPoint]:
        remembered = self._store.read(self._direction)
        if remembered is None or remembered.identity != identity:
            return {}
        # A topic that this call does not cover keeps its frontier; one that was created again, or is gone, loses it.
        return {
            TopicPartition(topic, number): point
            for (topic, number), point in remembered.points.items()
            if topic not in asked or ids.get(topic) == remembered.topic_ids[topic]
        }

    def _keep(
        self,
        identity: tuple[str, str, int],
        on_source: _ClusterLook,
        on_target: _ClusterLook,
        points: Mapping[TopicPartition, FrontierPoint],
    ) -> None:
        remembered = self._store.read(self._direction)
        older = remembered.topic_ids if remembered is not None and remembered.identity == identity else {}
        ids = {**older, **_topic_ids(on_source, on_target)}
        known = {(p.topic, p.partition): point for p, point in points.items() if p.topic in ids}
        self._store.write(self._direction, KeptFrontier(identity, ids, known))


def _answer(walk: PartitionWalk, source: Sequence[Entry], target: Sequence[Entry]) -> _Answers:
    """Return where a group resumes that has read everything, if a partition was compared to both ends.

    :param source: the source's records that were compared last, in order
    """
    if not walk.is_at_both_ends or len(source) < _ENOUGH:
        return {}
    at = walk.verified
    return {(walk.partition, at.source_offset): _at_the_ends(at, source, target)}


def _at_the_ends(at: Verified, source: Sequence[Entry], target: Sequence[Entry]) -> Translation:
    """Return where a group resumes that has read everything.

    :param source: the source's records that were compared last, in order
    :param target: their copies
    """
    near = check_locally(source[-AROUND:], at.source_offset, target[-AROUND:], at.target_offset)
    why = "every record up to the ends of both logs was matched"
    return Translation(at.source_offset, at.target_offset, "exact", 0, why, proof=near.verdict)


def _look(cluster: FlowCluster, partitions: Collection[TopicPartition]) -> _ClusterLook:
    """Look at a cluster once; a topic or partition that it does not have holds no offset."""
    topics = cluster.topics.existing(p.topic for p in partitions)
    return _ClusterLook(cluster, cluster.topics.identity().cluster_id, topics)


def _topic_ids(on_source: _ClusterLook, on_target: _ClusterLook) -> dict[str, tuple[str, str]]:
    both = on_source.topics.keys() & on_target.topics.keys()
    return {name: (on_source.topics[name].topic_id, on_target.topics[name].topic_id) for name in both}
