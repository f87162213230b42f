"""Translate offsets by comparing records of both clusters, one by one, from a pair of offsets that is already known.

This runs while applications wait. So a range that several groups need is read once, partitions are read in parallel,
and both clusters at the same time. What a translation before the fence learned is kept, so that it leaves little to
read for the one after it, which stores nothing. Offset syncs are read only if nothing else is near enough: there are
many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from kafka_dr.clusters import NotFound
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.offsets.translate.anchor_cache import CachedPairs
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.read_logs import Entries, Ranges, held_by, read_both
from kafka_dr.offsets.translate.search import OffsetSearch, RangePair, consistent, nothing_expired_early
from kafka_dr.offsets.translate.taken_over_copy import TakenOverCopy
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetPair, OffsetRange, PartitionOffset, TopicPartition

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


def translate_by_content(
    basis: TranslationBasis, offsets: Mapping[TopicPartition, Collection[int]]
) -> Mapping[PartitionOffset, Translation]:
    """Translate offsets: from what is known near them, and with the offset syncs, too, where that is not enough.

    :param offsets: next to read on the source, by partition
    """
    wanted = {p: sorted(set(each)) for p, each in offsets.items() if each}
    if not wanted:
        return {}
    topic_ids, held = _look_at_both(basis, wanted)
    searches = _searched(basis, wanted, held, topic_ids)
    if basis.keeps:
        basis.cache.learn(basis.direction, CachedPairs(topic_ids, _learned(searches)))
    found = {
        (p, each.position): each.result for p, of_p in searches.items() for each in of_p if each.result is not None
    }
    basis.proven.learn(basis.direction, topic_ids, found, held)
    return {at: _not_late(basis, at[0], answer) for at, answer in found.items()}


def proven_before(
    basis: TranslationBasis, offsets: Mapping[TopicPartition, Collection[int]]
) -> Mapping[PartitionOffset, Translation]:
    """Return what content has answered this process before, and what both logs still hold; no record is read.

    :param offsets: next to read on the source, by partition
    """
    if not (wanted := basis.proven.among(basis.direction, offsets)):
        return {}
    try:
        topic_ids, held = _look_at_both(basis, wanted)
    except NotFound:
        # Whatever is missing, the other stages say what that means for each offset.
        return {}
    found = basis.proven.still_true(basis.direction, topic_ids, wanted, held)
    return {at: _not_late(basis, at[0], answer) for at, answer in found.items()}


def _searched(
    basis: TranslationBasis,
    wanted: Mapping[TopicPartition, Sequence[int]],
    held: Mapping[TopicPartition, RangePair],
    topic_ids: TopicIds,
) -> dict[TopicPartition, list[OffsetSearch]]:
    """Return a finished search for each offset: the offset syncs are looked up only where nothing else is enough."""
    anchors = _known_anchors(basis, wanted, topic_ids)
    read = partial(read_both, basis.source, basis.target, ignored=basis.ignored)
    searches = _begun(basis, wanted, held, anchors)
    # Far from all that is known too much would be read: then the offset syncs are looked up first.
    if all(search.distance <= _NEAR for found in searches.values() for search in found):
        finish(searches, read)
    unsure = {p: left for p, found in searches.items() if (left := [s.position for s in found if not s.is_exact])}
    if unsure:
        again = _begun(basis, unsure, held, _with_syncs(basis, anchors))
        finish(again, read)
        searches = {p: [s for s in found if s.is_exact] + again.get(p, []) for p, found in searches.items()}
    return searches


def _begun(
    basis: TranslationBasis,
    wanted: Mapping[TopicPartition, Sequence[int]],
    held: Mapping[TopicPartition, RangePair],
    anchors: Anchors,
) -> dict[TopicPartition, list[OffsetSearch]]:
    others = basis.taken_over
    usable = {p: others[p].usable(found) if p in others else found for p, found in anchors.items()}
    return begin(wanted, held, usable, others)


def _not_late(basis: TranslationBasis, partition: TopicPartition, answer: Translation) -> Translation:
    known = basis.taken_over.get(partition)
    return answer if known is None else known.not_late(answer)


def _look_at_both(
    basis: TranslationBasis, partitions: Collection[TopicPartition]
) -> tuple[TopicIds, dict[TopicPartition, RangePair]]:
    """Return the ids of the topics on source and target, and what both logs hold of each partition."""
    (source_ids, on_source), (target_ids, on_target) = at_once(
        lambda: _look(basis.source, partitions), lambda: _look(basis.target, partitions)
    )
    topic_ids = {topic: (source_ids[topic], target_ids[topic]) for topic in source_ids}
    return topic_ids, {p: RangePair(on_source[p], on_target[p]) for p in partitions}


def _look(
    cluster: FlowCluster, partitions: Collection[TopicPartition]
) -> tuple[dict[str, str], dict[TopicPartition, OffsetRange]]:
    """Return the ids of a cluster's topics, and the offsets that it holds of partitions."""
    topics = cluster.topics.describe({p.topic for p in partitions})
    return {name: topic.topic_id for name, topic in topics.items()}, held_by(cluster, partitions)


def _known_anchors(
    basis: TranslationBasis, wanted: Mapping[TopicPartition, Sequence[int]], topic_ids: TopicIds
) -> Anchors:
    """Return seeds, and what earlier translations and audits learned."""
    learned = basis.cache.read(basis.direction).of(topic_ids).offsets
    matched = basis.maps.pairs_below(wanted, topic_ids)
    return {p: [*basis.seeds.get(p, ()), *learned.get((p.topic, p.partition), ()), *matched.get(p, ())] for p in wanted}


def _with_syncs(basis: TranslationBasis, anchors: Anchors) -> Anchors:
    """Add the offset syncs: each is a pair of offsets of one record, whichever direction wrote it."""
    syncs = basis.syncs.read({p.topic for p in anchors}).histories
    return {p: [*found, *(syncs[p].pairs if p in syncs else ())] for p, found in anchors.items()}


def _learned(
    searches: Mapping[TopicPartition, Sequence[OffsetSearch]],
) -> dict[tuple[str, int], tuple[OffsetPair, ...]]:
    return {
        (p.topic, p.partition): tuple(pair for search in found for pair in search.learned)
        for p, found in searches.items()
    }


def begin(
    wanted: Mapping[TopicPartition, Sequence[int]],
    held: Mapping[TopicPartition, RangePair],
    anchors: Anchors,
    taken_over: Mapping[TopicPartition, TakenOverCopy] | None = None,
) -> dict[TopicPartition, list[OffsetSearch]]:
    """Begin a search for each offset.

    :param taken_over: the parts of copies that another replication made
    """
    others = taken_over or {}
    searches: dict[TopicPartition, list[OffsetSearch]] = {}
    for p, offsets in wanted.items():
        usable, whole = consistent(anchors[p], held[p]), nothing_expired_early(anchors[p], held[p])
        known = others.get(p)
        searches[p] = [
            OffsetSearch(offset, held=held[p], anchors=usable, whole=whole, taken_over=known) for offset in offsets
        ]
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
