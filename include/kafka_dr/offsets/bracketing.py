"""The offset map of a planned failover: brackets by offset syncs and journaled seeds, then content in lock step.

It is on the outage path, so every stretch that several groups need is read once, all partitions are read beside each
other, and both sides at the same time. What was learned is kept: :meth:`BracketingOffsetMap.prepare`, called while
writes still flow, leaves little to read for groups that are far behind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kafka_dr.audit import Entry
from kafka_dr.clusters import KafkaCluster, NotFound, OffsetRange, TopicPartition
from kafka_dr.offsets.alignment import Anchor
from kafka_dr.offsets.reading import both, entries_of, held_by
from kafka_dr.offsets.search import Bounds, Search, Window, consistent
from kafka_dr.offsets.syncs import OffsetSync, Undecodable, decode_sync, sync_topic
from kafka_dr.offsets.translation import Translation

#: Stretches of one partition that lie closer together than this are read as one.
_GAP = 500
#: Consumers that read beside each other on each side; each has to connect first.
_READERS = 2
Ranges = Mapping[TopicPartition, Collection[OffsetRange]]
Entries = dict[TopicPartition, list[Entry]]
#: Reads stretches of both sides: source, target.
ReadBoth = Callable[[Ranges, Ranges], tuple[Entries, Entries]]


@dataclass(frozen=True, slots=True)
class Seed:
    """Where a direction began: from here on, the records of both sides correspond. Both are next to read."""

    source_offset: int
    target_offset: int


class BracketingOffsetMap:
    """Translates positions by what both clusters hold.

    :param source: the cluster that the positions are from, reached as audit
    :param target: the cluster that they are wanted for, reached as audit
    :param seeds: journaled places of earlier switches, by partition
    """

    def __init__(
        self,
        source: KafkaCluster,
        target: KafkaCluster,
        *,
        seeds: Mapping[TopicPartition, Collection[Seed]] | None = None,
    ) -> None:
        self._source = source
        self._target = target
        self._learned: dict[TopicPartition, list[Anchor]] = {
            partition: [Anchor(seed.source_offset, seed.target_offset, "position") for seed in found]
            for partition, found in (seeds or {}).items()
        }
        self._synced: dict[TopicPartition, list[Anchor]] | None = None

    def prepare(self, positions: Mapping[TopicPartition, Collection[int]]) -> None:
        """Learn the surroundings of positions ahead of time; a later translation near them reads little."""
        self.translate(positions)

    def translate(
        self, positions: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[tuple[TopicPartition, int], Translation]:
        """Translate positions: next to read on the source, by partition."""
        wanted = {partition: sorted(set(offsets)) for partition, offsets in positions.items() if offsets}
        if not wanted:
            return {}
        with ThreadPoolExecutor(4) as pool:
            source_ends = pool.submit(held_by, self._source, wanted)
            target_ends = pool.submit(held_by, self._target, wanted)
            anchors = self._anchors(wanted)
            bounds = {p: Bounds(source_ends.result()[p], target_ends.result()[p]) for p in wanted}
        searches: dict[TopicPartition, list[Search]] = {}
        for partition, offsets in wanted.items():
            usable = consistent(anchors.get(partition, ()), bounds[partition])
            searches[partition] = [Search(o, bounds=bounds[partition], anchors=usable) for o in offsets]
        finish(searches, self._read_both)
        for partition, done in searches.items():
            self._learned.setdefault(partition, []).extend(anchor for search in done for anchor in search.learned)
        return {
            (partition, search.position): search.result
            for partition, done in searches.items()
            for search in done
            if search.result is not None
        }

    def _anchors(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, list[Anchor]]:
        if self._synced is None:
            # Whatever direction wrote it, a sync is a pair of offsets of one record.
            forth, back = both(
                lambda: _syncs(self._target, sync_topic(self._source.name)),
                lambda: _syncs(self._source, sync_topic(self._target.name)),
            )
            self._synced = {}
            for sync in forth:
                anchor = Anchor(sync.source_offset, sync.target_offset, "record")
                self._synced.setdefault(sync.topic_partition, []).append(anchor)
            for sync in back:
                anchor = Anchor(sync.target_offset, sync.source_offset, "record")
                self._synced.setdefault(sync.topic_partition, []).append(anchor)
        return {p: [*self._synced.get(p, ()), *self._learned.get(p, ())] for p in wanted}

    def _read_both(self, source: Ranges, target: Ranges) -> tuple[Entries, Entries]:
        return both(lambda: _read(self._source, source), lambda: _read(self._target, target))


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


def _within(entries: Sequence[Entry], window: OffsetRange) -> list[Entry]:
    return [entry for entry in entries if window.start <= entry.offset < window.end]


def _read(cluster: KafkaCluster, ranges: Ranges) -> Entries:
    """Read stretches: one consumer for the first of every partition, one for the second, and so on."""
    layers: list[dict[TopicPartition, OffsetRange]] = []
    for partition, found in ranges.items():
        for number, wanted in enumerate(found):
            if number == len(layers):
                layers.append({})
            layers[number][partition] = wanted
    entries: Entries = {}
    if layers:
        with ThreadPoolExecutor(_READERS) as pool:
            for layer in pool.map(lambda layer: entries_of(cluster, layer), layers):
                for partition, read in layer.items():
                    entries.setdefault(partition, []).extend(read)
    return entries


def _syncs(cluster: KafkaCluster, topic: str) -> list[OffsetSync]:
    """Read all offset syncs of a topic; where it does not exist, no flow ever wrote that way."""
    partition = TopicPartition(topic, 0)
    try:
        held = held_by(cluster, [partition])
    except NotFound:
        return []
    found = []
    for record in cluster.log.read(held):
        try:
            sync = decode_sync(record.key, record.value)
        except Undecodable:
            # One record that is none of MirrorMaker's must not hide all others; content decides anyway.
            continue
        if sync is not None:
            found.append(sync)
    return found
