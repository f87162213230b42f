"""Translate offsets by comparing records of both clusters, one by one, from a pair of offsets that is already known.

This runs while applications wait. So a range that several groups need is read once, partitions are read in parallel,
and both clusters at the same time. What a translation before the fence learned is kept, so that it leaves little to
read for the one after it, which keeps nothing. Offset syncs are read only if nothing else is near enough: there are
many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from kafka_dr.clusters import KafkaCluster
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.read_logs import Entries, Ignored, Ranges, held_by, read_both
from kafka_dr.offsets.translate.search import OffsetSearch, RangePair, consistent, nothing_expired_early
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, PartitionOffset, SeedPoint, TopicPartition

#: Ranges of one partition with a smaller gap than this are read as one.
_GAP = 500
#: Source offsets between an offset and the nearest anchor below it that can be compared quickly.
_NEAR = 2_000
#: What is believed to correspond, by partition; content confirms it.
Anchors: TypeAlias = dict[TopicPartition, list[Anchor]]
#: By topic, its id on the source and on the target.
TopicIds: TypeAlias = Mapping[str, tuple[str, str]]
#: Reads ranges of both clusters: source, target.
ReadRanges = Callable[[Ranges, Ranges], tuple[Entries, Entries]]


@dataclass(frozen=True, slots=True)
class ContentOffsetMap:
    """Translates offsets by the records that both clusters hold.

    :param source: the cluster that the offsets are from, reached as audit
    :param target: the cluster that they are wanted for, reached as audit
    :param syncs: looks up offset syncs
    :param seeds: points that are known: journaled by earlier runs, or the verified frontier
    :param cache: has what earlier translations learned
    :param keeps: whether what this one learns is kept there for the next one
    :param maps: what audits matched
    :param ignored: ranges that are neither copied nor a copy, on the source and on the target
    """

    source: KafkaCluster
    target: KafkaCluster
    syncs: SyncLookup
    seeds: Mapping[TopicPartition, Collection[SeedPoint]] = field(default_factory=dict)
    cache: AnchorCache | None = None
    keeps: bool = True
    maps: MapStore | None = None
    ignored: tuple[Ignored, Ignored] = ({}, {})

    def translate(self, positions: Mapping[TopicPartition, Collection[int]]) -> Mapping[PartitionOffset, Translation]:
        """Translate offsets: from what is known near them, and with the offset syncs, too, where that is not enough.

        :param positions: next to read on the source, by partition
        """
        wanted = {partition: sorted(set(offsets)) for partition, offsets in positions.items() if offsets}
        if not wanted:
            return {}
        on_source, on_target = at_once(lambda: held_by(self.source, wanted), lambda: held_by(self.target, wanted))
        held = {p: RangePair(on_source[p], on_target[p]) for p in wanted}
        anchors, topic_ids = self._known_anchors(wanted)
        read = partial(read_both, self.source, self.target, ignored=self.ignored)
        searches = begin(wanted, held, anchors)
        far = any(search.distance > _NEAR for found in searches.values() for search in found)
        if far:
            searches = begin(wanted, held, self._with_syncs(anchors))
        finish(searches, read)
        unsure = {p: left for p, found in searches.items() if (left := [s.position for s in found if not s.is_exact])}
        if unsure and not far:
            again = begin(unsure, held, self._with_syncs(anchors))
            finish(again, read)
            searches = {p: [s for s in found if s.is_exact] + again.get(p, []) for p, found in searches.items()}
        if self.keeps:
            self._keep_what_was_learned(topic_ids, searches)
        return {
            (partition, search.position): search.result
            for partition, found in searches.items()
            for search in found
            if search.result is not None
        }

    def _known_anchors(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> tuple[Anchors, TopicIds]:
        """Return seeds, and what earlier translations and audits learned; with the ids of the topics it is about."""
        anchors: Anchors = {p: [*self.seeds.get(p, ())] for p in wanted}
        if self.cache is None and self.maps is None:
            return anchors, {}
        topics = {partition.topic for partition in wanted}
        source, target = at_once(
            lambda: self.source.topics.describe(topics), lambda: self.target.topics.describe(topics)
        )
        topic_ids = {name: (source[name].topic_id, target[name].topic_id) for name in topics}
        learned = self.cache.read(self._direction).of(topic_ids).offsets if self.cache else {}
        matched = self.maps.pairs_below(wanted, topic_ids) if self.maps else {}
        for p, found in anchors.items():
            found += [*learned.get((p.topic, p.partition), ()), *matched.get(p, ())]
        return anchors, topic_ids

    def _with_syncs(self, anchors: Anchors) -> Anchors:
        """Add the offset syncs: each is a pair of offsets of one record, whichever direction wrote it."""
        syncs = self.syncs.read({p.topic for p in anchors}).histories
        return {p: [*found, *(syncs[p].pairs if p in syncs else ())] for p, found in anchors.items()}

    def _keep_what_was_learned(
        self, topic_ids: TopicIds, searches: Mapping[TopicPartition, Sequence[OffsetSearch]]
    ) -> None:
        learned = {
            (p.topic, p.partition): tuple(pair for search in found for pair in search.learned)
            for p, found in searches.items()
        }
        if self.cache is not None and any(learned.values()):
            kept = self.cache.read(self._direction)
            self.cache.write(self._direction, kept.with_more(topic_ids, CachedPairs(topic_ids, learned)))

    @property
    def _direction(self) -> str:
        return f"{self.source.name}-to-{self.target.name}"


def begin(
    wanted: Mapping[TopicPartition, Sequence[int]], held: Mapping[TopicPartition, RangePair], anchors: Anchors
) -> dict[TopicPartition, list[OffsetSearch]]:
    """Begin a search for each offset."""
    searches: dict[TopicPartition, list[OffsetSearch]] = {}
    for p, offsets in wanted.items():
        usable, whole = consistent(anchors[p], held[p]), nothing_expired_early(anchors[p], held[p])
        searches[p] = [OffsetSearch(offset, held=held[p], anchors=usable, whole=whole) for offset in offsets]
    return searches


def finish(searches: Mapping[TopicPartition, Sequence[OffsetSearch]], read: ReadRanges) -> None:
    """Show all searches what they want to see, round by round, until each has a result."""
    while open_searches := [(p, search) for p, found in searches.items() for search in found if search.result is None]:
        windows: dict[TopicPartition, list[RangePair]] = {}
        shown = [(partition, search, search.window()) for partition, search in open_searches]
        for partition, _, window in shown:
            windows.setdefault(partition, []).append(window)
        source, target = read(
            {p: joined(window.source for window in found) for p, found in windows.items()},
            {p: joined(window.target for window in found) for p, found in windows.items()},
        )
        for partition, search, window in shown:
            search.look(
                [entry for entry in source.get(partition, ()) if entry.offset in window.source],
                [entry for entry in target.get(partition, ()) if entry.offset in window.target],
            )


def joined(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Return ranges that cover these, lowest first. Ranges near each other become one."""
    covering: list[OffsetRange] = []
    for wanted in sorted((r for r in ranges if len(r)), key=lambda r: r.start):
        if covering and wanted.start <= covering[-1].end + _GAP:
            covering[-1] = OffsetRange(covering[-1].start, max(covering[-1].end, wanted.end))
        else:
            covering.append(wanted)
    return tuple(covering)
