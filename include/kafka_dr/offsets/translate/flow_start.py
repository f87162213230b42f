"""Where a flow begins on another log of the same records, so that it copies each record once.

A standby was copied from one cluster, and is to be copied from another one from now on. Its copy ends somewhere in the
log of the first one, and the flow begins where that is in the log of the second one. A consumer group may begin a
little earlier; a flow may not, because what it copies again stays. So only an exact answer is one.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.by_content import Anchors, ReadRanges, begin, finish
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition


def starts_of_flow(
    copied: Mapping[TopicPartition, int],
    turned: Mapping[TopicPartition, SeedPoint],
    held: Mapping[TopicPartition, RangePair],
    anchors: Anchors,
    read: ReadRanges,
) -> dict[TopicPartition, Translation]:
    """Translate how far a flow has come in one log to where another flow begins in the other log.

    :param copied: next to copy on the first log; a partition that is missing here has no answer
    :param turned: where the two logs ended when the group was moved from the first cluster to the second one. Below it
        both hold the same records; after it the first one is a copy of the second one, and may lack the newest records
    :param held: what both logs hold
    :param anchors: what is believed to correspond; content confirms it
    :param read: reads ranges of both
    :returns: of each partition; anything but *exact* is no answer
    """
    found = {p: _without_reading(at, turned.get(p)) for p, at in copied.items()}
    wanted = {p: [at] for p, at in copied.items() if found[p] is None}
    below = {p for p in wanted if copied[p] < turned[p].source}
    bounds = {p: _up_to(held[p], turned[p]) if p in below else held[p] for p in wanted}
    known = {p: [*anchors.get(p, ()), *(() if p in below else (turned[p],))] for p in wanted}
    searches = begin(wanted, bounds, known)
    finish(searches, read)
    answers = {p: each or searches[p][0].result for p, each in found.items()}
    return {p: answer for p, answer in answers.items() if answer is not None}


def _without_reading(at: int, point: SeedPoint | None) -> Translation | None:
    """Return the answer that needs no record; ``None`` if records have to be compared."""
    if point is None:
        return Translation(at, None, "unknown", None, "it is not known where both logs ended when the group was moved")
    if at == point.source:
        return Translation(at, point.target, "exact", 0, "the copy ends where the group was moved", proof="right")
    return None


def _up_to(held: RangePair, point: SeedPoint) -> RangePair:
    """Return what both logs hold up to where they ended."""
    source, target = held.source, held.target
    return RangePair(
        OffsetRange(min(source.start, point.source), min(source.end, point.source)),
        OffsetRange(min(target.start, point.target), min(target.end, point.target)),
    )


def end_in_longer_copy(
    held: Mapping[TopicPartition, RangePair],
    until: Mapping[TopicPartition, int],
    anchors: Anchors,
    read: ReadRanges,
) -> dict[TopicPartition, Translation]:
    """Return where the end of one copy of a log is in another, longer copy of the same log.

    Two questions show it: which offset of the longer copy follows what the shorter one ends with, and whether the
    shorter one ends where that offset is. So all of its records come before it, and none of them after it.

    :param held: what the shorter copy and the longer one hold
    :param until: where the longer one ended when it was a copy: what follows is new
    :param anchors: what is believed to correspond; content confirms it
    :param read: reads ranges of both, of the shorter copy first
    """
    bounds = {p: _up_to(each, SeedPoint(each.source.end, until[p])) for p, each in held.items()}
    known = {p: list(anchors.get(p, ())) for p in bounds}
    searches = begin({p: [each.source.end] for p, each in bounds.items()}, bounds, known)
    finish(searches, read)
    first = {p: found[0].result for p, found in searches.items()}
    back = {p: [each.target_offset] for p, each in first.items() if each is not None and each.target_offset is not None}
    turned = {p: RangePair(bounds[p].target, bounds[p].source) for p in back}
    again = begin(back, turned, {p: [_turned(each) for each in known[p]] for p in back})
    finish(again, lambda longer, shorter: read(shorter, longer)[::-1])
    left = {
        p: [OffsetRange(found[0].result.target_offset, bounds[p].source.end)]
        for p, found in again.items()
        if found[0].is_exact and found[0].result and found[0].result.target_offset is not None
    }
    after, _ = read({p: each for p, each in left.items() if len(each[0])}, {})
    unknown = "the records before the end of the copy are not found one after the other"
    return {
        p: Translation(bounds[p].source.end, back[p][0], "exact", 0, "both copies hold the same records up to here")
        if p in left and not after.get(p)
        else Translation(bounds[p].source.end, None, "unknown", None, each.reason if each else unknown)
        for p, each in first.items()
    }


def _turned(anchor: Anchor) -> Anchor:
    return type(anchor)(anchor.target, anchor.source)
