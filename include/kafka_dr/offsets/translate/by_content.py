"""The offset map of a planned failover: brackets by offset syncs and journaled seeds, then content in lock step.

It is on the outage path, so every stretch that several groups need is read once, all partitions are read beside each
other, and both sides at the same time. What was learned is kept, so that a translation while writes still flow leaves
little to read for the one that counts. Offset syncs are only read where that is not enough: there are many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kafka_dr.audit import Entry
from kafka_dr.clusters import KafkaCluster, NotFound
from kafka_dr.offsets.maps import AuditedPairs
from kafka_dr.offsets.syncs.archive import KnownSyncs, read_syncs
from kafka_dr.offsets.syncs.decode import OffsetSync, sync_topic
from kafka_dr.offsets.translate.anchor_cache import FilePairStore, Pairs
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.read_logs import Aside, Entries, both, both_ways, entries_of, held_by
from kafka_dr.offsets.translate.search import Bounds, Search, Window, consistent, nothing_expired_early
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

#: Stretches of one partition that lie closer together than this are read as one.
_GAP = 500
#: Consumers that read beside each other on each side. Each has to connect first, which takes as long as three reads.
_READERS = 2
_READS_A_READER = 3
#: Source offsets between a position and the place below it from which matching up to it is no burden.
_NEAR = 2_000
Ranges = Mapping[TopicPartition, Collection[OffsetRange]]
#: Reads stretches of both sides: source, target.
ReadBoth = Callable[[Ranges, Ranges], tuple[Entries, Entries]]


class BracketingOffsetMap:
    """Translates positions by what both clusters hold.

    :param source: the cluster that the positions are from, reached as audit
    :param target: the cluster that they are wanted for, reached as audit
    :param seeds: places that are known: journaled by earlier switches, or the end of what was verified
    :param store: remembers what was learned between two translations
    :param syncs: the archived offset syncs; without it the topics of syncs are read from their beginning
    :param audited: what audits matched
    :param aside: what is passed over, on the source and on the target
    """

    def __init__(
        self,
        source: KafkaCluster,
        target: KafkaCluster,
        *,
        seeds: Mapping[TopicPartition, Collection[SeedPoint]] | None = None,
        store: FilePairStore | None = None,
        syncs: KnownSyncs | None = None,
        audited: AuditedPairs | None = None,
        aside: tuple[Aside, Aside] | None = None,
    ) -> None:
        self._syncs = syncs
        self._source = source
        self._target = target
        self._store = store
        self._audited = audited
        self._aside = aside or ({}, {})
        self._direction = f"{source.name}-to-{target.name}"
        self._known: dict[TopicPartition, list[Anchor]] = {
            partition: [Anchor(seed.source, seed.target, "position") for seed in found]
            for partition, found in (seeds or {}).items()
        }
        self._syncs_are_known = False

    def translate(
        self, positions: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[tuple[TopicPartition, int], Translation]:
        """Translate positions: next to read on the source, by partition."""
        wanted = {partition: sorted(set(offsets)) for partition, offsets in positions.items() if offsets}
        if not wanted:
            return {}
        source, target = both(lambda: held_by(self._source, wanted), lambda: held_by(self._target, wanted))
        bounds = {p: Bounds(source[p], target[p]) for p in wanted}
        topic_ids = self._recall(wanted)
        done = self._search(wanted, bounds)
        unsure = {p: [s.position for s in found if not _is_exact(s)] for p, found in done.items()}
        if any(unsure.values()) and not self._syncs_are_known:
            self._learn_syncs(wanted)
            again = self._search({p: offsets for p, offsets in unsure.items() if offsets}, bounds)
            done = {p: [s for s in found if _is_exact(s)] + again.get(p, []) for p, found in done.items()}
        self._remember(topic_ids, done)
        return {
            (partition, search.position): search.result
            for partition, found in done.items()
            for search in found
            if search.result is not None
        }

    def _search(
        self, wanted: Mapping[TopicPartition, Sequence[int]], bounds: Mapping[TopicPartition, Bounds]
    ) -> dict[TopicPartition, list[Search]]:
        """Search for positions from what is known so far, and with the syncs where that is far from one of them."""
        searches = self._begin(wanted, bounds)
        if any(search.distance > _NEAR for found in searches.values() for search in found):
            self._learn_syncs(wanted)
            searches = self._begin(wanted, bounds)
        finish(searches, self._read_both)
        return searches

    def _begin(
        self, wanted: Mapping[TopicPartition, Sequence[int]], bounds: Mapping[TopicPartition, Bounds]
    ) -> dict[TopicPartition, list[Search]]:
        searches: dict[TopicPartition, list[Search]] = {}
        for partition, offsets in wanted.items():
            known, held = self._known.get(partition, ()), bounds[partition]
            usable, whole = consistent(known, held), nothing_expired_early(known, held)
            searches[partition] = [Search(o, bounds=held, anchors=usable, whole=whole) for o in offsets]
        return searches

    def _learn_syncs(self, wanted: Collection[TopicPartition]) -> None:
        """Take in the offset syncs: whatever direction wrote one, it is a pair of offsets of one record."""
        if self._syncs_are_known:
            return
        if self._syncs is not None:
            for partition, found in self._syncs.read({p.topic for p in wanted}).histories.items():
                anchors = [Anchor(pair.source, pair.target, "record") for pair in found.pairs]
                self._known.setdefault(partition, []).extend(anchors)
        else:
            self._read_syncs()
        self._syncs_are_known = True

    def _read_syncs(self) -> None:
        forth, back = both(
            lambda: _all_syncs(self._target, sync_topic(self._source.name)),
            lambda: _all_syncs(self._source, sync_topic(self._target.name)),
        )
        for sync in forth:
            anchor = Anchor(sync.source_offset, sync.target_offset, "record")
            self._known.setdefault(sync.topic_partition, []).append(anchor)
        for sync in back:
            anchor = Anchor(sync.target_offset, sync.source_offset, "record")
            self._known.setdefault(sync.topic_partition, []).append(anchor)

    def _recall(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> dict[str, tuple[str, str]]:
        """Take in what was learned before, and return the topics' ids, which say what that is about."""
        if self._store is None and self._audited is None:
            return {}
        topics = {partition.topic for partition in wanted}
        here, there = both(lambda: self._source.topics.describe(topics), lambda: self._target.topics.describe(topics))
        topic_ids = {name: (here[name].topic_id, there[name].topic_id) for name in topics}
        remembered = self._store.read(self._direction).of(topic_ids).offsets if self._store else {}
        for (topic, number), pairs in remembered.items():
            anchors = [Anchor(source, target, "record") for source, target in pairs]
            self._known.setdefault(TopicPartition(topic, number), []).extend(anchors)
        for partition, found in (self._audited.pairs(wanted, topic_ids) if self._audited else {}).items():
            self._known.setdefault(partition, []).extend(Anchor(*pair, "record") for pair in found)
        return topic_ids

    def _remember(
        self, topic_ids: Mapping[str, tuple[str, str]], done: Mapping[TopicPartition, Sequence[Search]]
    ) -> None:
        learned = {p: [anchor for search in found for anchor in search.learned] for p, found in done.items()}
        for partition, anchors in learned.items():
            self._known.setdefault(partition, []).extend(anchors)
        if self._store is None or not any(learned.values()):
            return
        pairs = {(p.topic, p.partition): tuple((a.source, a.target) for a in found) for p, found in learned.items()}
        kept = self._store.read(self._direction)
        self._store.write(self._direction, kept.with_more(topic_ids, Pairs(topic_ids, pairs)))

    def _read_both(self, source: Ranges, target: Ranges) -> tuple[Entries, Entries]:
        here, there = self._aside
        return both_ways(*both(lambda: _read(self._source, source, here), lambda: _read(self._target, target, there)))


def finish(searches: Mapping[TopicPartition, Sequence[Search]], read_both: ReadBoth) -> None:
    """Show all searches what they want to see, round by round, until each has a result."""
    while True:
        open_searches = [(p, search) for p, found in searches.items() for search in found if search.result is None]
        if not open_searches:
            return
        windows: dict[TopicPartition, list[Window]] = {}
        shown = [(partition, search, search.window()) for partition, search in open_searches]
        for partition, _, window in shown:
            windows.setdefault(partition, []).append(window)
        here, there = read_both(
            {p: joined(window.source for window in found) for p, found in windows.items()},
            {p: joined(window.target for window in found) for p, found in windows.items()},
        )
        for partition, search, window in shown:
            search.look(
                _within(here.get(partition, []), window.source), _within(there.get(partition, []), window.target)
            )


def joined(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Return ranges that cover these, none near another, lowest first."""
    covering: list[OffsetRange] = []
    for wanted in sorted((r for r in ranges if len(r)), key=lambda r: r.start):
        if covering and wanted.start <= covering[-1].end + _GAP:
            covering[-1] = OffsetRange(covering[-1].start, max(covering[-1].end, wanted.end))
        else:
            covering.append(wanted)
    return tuple(covering)


def _is_exact(search: Search) -> bool:
    return search.result is not None and search.result.kind == "exact"


def _within(entries: Sequence[Entry], window: OffsetRange) -> list[Entry]:
    return [entry for entry in entries if window.start <= entry.offset < window.end]


def _read(cluster: KafkaCluster, ranges: Ranges, aside: Aside) -> Entries:
    """Read stretches: one consumer for the first of every partition, one for the second, and so on."""
    layers: list[dict[TopicPartition, OffsetRange]] = []
    for partition, found in ranges.items():
        for number, wanted in enumerate(found):
            if number == len(layers):
                layers.append({})
            layers[number][partition] = wanted
    entries: Entries = {}
    if layers:
        with ThreadPoolExecutor(min(_READERS, -(-len(layers) // _READS_A_READER))) as pool:
            for layer in pool.map(lambda layer: entries_of(cluster, layer, aside), layers):
                for partition, read in layer.items():
                    entries.setdefault(partition, []).extend(read)
    return entries


def _all_syncs(cluster: KafkaCluster, topic: str) -> list[OffsetSync]:
    """Read all offset syncs of a topic; where it does not exist, no flow ever wrote that way."""
    partition = TopicPartition(topic, 0)
    try:
        held = held_by(cluster, [partition])
    except NotFound:
        return []
    return [sync for _, sync in read_syncs(cluster, topic, held[partition])]
