"""Translate offsets by comparing records of both clusters, one by one, from a pair of offsets that is already known.

This runs while applications wait. So a range that several groups need is read once, partitions are read in parallel,
and both clusters at the same time. What was learned is kept, so that a translation before the fence leaves little to
read for the one after it. Offset syncs are read only if nothing else is near enough: there are many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kafka_dr.clusters import KafkaCluster
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.read_logs import Entries, Ignored, Ranges, held_by, read_both
from kafka_dr.offsets.translate.search import OffsetSearch, RangePair, consistent, nothing_expired_early
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

#: Ranges of one partition with a smaller gap than this are read as one.
_GAP = 500
#: Source offsets between an offset and the nearest anchor below it that can be compared quickly.
_NEAR = 2_000
#: Reads ranges of both clusters: source, target.
ReadRanges = Callable[[Ranges, Ranges], tuple[Entries, Entries]]


class ContentOffsetMap:
    """Translates offsets by the records that both clusters hold.

    :param source: the cluster that the offsets are from, reached as audit
    :param target: the cluster that they are wanted for, reached as audit
    :param syncs: looks up offset syncs
    :param seeds: points that are known: journaled by earlier runs, or the verified frontier
    :param cache: keeps what was learned between two translations
    :param maps: what audits matched
    :param ignored: ranges that are neither copied nor a copy, on the source and on the target
    """

    def __init__(
        self,
        source: KafkaCluster,
        target: KafkaCluster,
        *,
        syncs: SyncLookup,
        seeds: Mapping[TopicPartition, Collection[SeedPoint]] | None = None,
        cache: AnchorCache | None = None,
        maps: MapStore | None = None,
        ignored: tuple[Ignored, Ignored] | None = None,
    ) -> None:
        self._source = source
        self._target = target
        self._syncs = syncs
        self._cache = cache
        self._maps = maps
        self._ignored = ignored or ({}, {})
        self._direction = f"{source.name}-to-{target.name}"
        self._known: dict[TopicPartition, list[Anchor]] = {
            partition: [*found] for partition, found in (seeds or {}).items()
        }
        self._syncs_are_known = False

    def translate(
        self, positions: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[tuple[TopicPartition, int], Translation]:
        """Translate offsets.

        :param positions: next to read on the source, by partition
        """
        wanted = {partition: sorted(set(offsets)) for partition, offsets in positions.items() if offsets}
        if not wanted:
            return {}
        source, target = at_once(lambda: held_by(self._source, wanted), lambda: held_by(self._target, wanted))
        held = {p: RangePair(source[p], target[p]) for p in wanted}
        topic_ids = self._use_what_was_learned(wanted)
        done = self._search(wanted, held)
        unsure = {p: [s.position for s in found if not s.is_exact] for p, found in done.items()}
        unsure = {p: offsets for p, offsets in unsure.items() if offsets}
        if unsure and not self._syncs_are_known:
            self._use_syncs(wanted)
            again = self._search(unsure, held)
            done = {p: [s for s in found if s.is_exact] + again.get(p, []) for p, found in done.items()}
        self._keep_what_was_learned(topic_ids, done)
        return {
            (partition, search.position): search.result
            for partition, found in done.items()
            for search in found
            if search.result is not None
        }

    def _search(
        self, wanted: Mapping[TopicPartition, Sequence[int]], held: Mapping[TopicPartition, RangePair]
    ) -> dict[TopicPartition, list[OffsetSearch]]:
        """Search from the anchors that are known so far; with the syncs, too, if those are far from an offset."""
        searches: dict[TopicPartition, list[OffsetSearch]] = {}
        for partition, offsets in wanted.items():
            known, ranges = self._known.get(partition, ()), held[partition]
            usable, whole = consistent(known, ranges), nothing_expired_early(known, ranges)
            searches[partition] = [OffsetSearch(o, held=ranges, anchors=usable, whole=whole) for o in offsets]
        far = any(search.distance > _NEAR for found in searches.values() for search in found)
        if far and not self._syncs_are_known:
            self._use_syncs(wanted)
            return self._search(wanted, held)

        def read(source: Ranges, target: Ranges) -> tuple[Entries, Entries]:
            return read_both(self._source, source, self._target, target, self._ignored)

        finish(searches, read)
        return searches

    def _use_syncs(self, wanted: Collection[TopicPartition]) -> None:
        """Take in the offset syncs: each is a pair of offsets of one record, whichever direction wrote it."""
        for partition, found in self._syncs.read({p.topic for p in wanted}).histories.items():
            self._known.setdefault(partition, []).extend(found.pairs)
        self._syncs_are_known = True

    def _use_what_was_learned(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> dict[str, tuple[str, str]]:
        """Take in what earlier translations and audits learned, and return the ids of the topics that it is about."""
        if self._cache is None and self._maps is None:
            return {}
        topics = {partition.topic for partition in wanted}
        source, target = at_once(
            lambda: self._source.topics.describe(topics), lambda: self._target.topics.describe(topics)
        )
        topic_ids = {name: (source[name].topic_id, target[name].topic_id) for name in topics}
        learned = self._cache.read(self._direction).of(topic_ids).offsets if self._cache else {}
        found = {TopicPartition(*key): list(pairs) for key, pairs in learned.items()}
        if self._maps:
            for partition, pairs in self._maps.pairs_below(wanted, topic_ids).items():
                found.setdefault(partition, []).extend(pairs)
        for partition, pairs in found.items():
            self._known.setdefault(partition, []).extend(pairs)
        return topic_ids

    def _keep_what_was_learned(
        self, topic_ids: Mapping[str, tuple[str, str]], done: Mapping[TopicPartition, Sequence[OffsetSearch]]
    ) -> None:
        learned = {p: [pair for search in found for pair in search.learned] for p, found in done.items()}
        for partition, pairs in learned.items():
            self._known.setdefault(partition, []).extend(pairs)
        if self._cache is not None and any(learned.values()):
            newest = CachedPairs(topic_ids, {(p.topic, p.partition): tuple(found) for p, found in learned.items()})
            kept = self._cache.read(self._direction)
            self._cache.write(self._direction, kept.with_more(topic_ids, newest))


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
