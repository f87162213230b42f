"""Checks a translated offset by the records before and after it, on both clusters.

The check does not use the method that produced the offset. So it says whether an offset is right whatever found it: an
audit's map, a comparison of content, a checkpoint. If records near it look alike, it says that it does not know.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.audit.copies import Entry
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.counted import counted
from kafka_dr.offsets.translate.matching import equal_records, is_distinct
from kafka_dr.offsets.translate.read_logs import Ignored, held_by, layers, read_both
from kafka_dr.parallel import at_once
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

#: Offsets that are read before and after an offset.
AROUND = 48
#: ``right``: the next record is the first unread one. ``early``: some come again. ``late``: one is skipped.
LocalVerdict = Literal["right", "early", "late", "unknown"]
#: A partition, and an offset of the source with its translation. Both are next to read.
TranslatedPoint = tuple[TopicPartition, SeedPoint]


@dataclass(frozen=True, slots=True)
class LocalCheck:
    """What the records around an offset say.

    :param records: how many come again (early), or are skipped at least (late)
    """

    verdict: LocalVerdict
    records: int
    detail: str


def check_locally(source: Sequence[Entry], position: int, target: Sequence[Entry], translated: int) -> LocalCheck:
    """Check a translated offset by the records around it on both clusters.

    :param source: records around the position, in order
    :param position: next to read on the source
    :param target: records around the translated offset, in order
    :param translated: next to read on the target
    """
    at, target_at = bisect_left(source, (position,)), bisect_left(target, (translated,))
    read, unread, before, after = (
        {entry.content for entry in entries}
        for entries in (source[:at], source[at:], target[:target_at], target[target_at:])
    )
    if skipped := (unread & before) - after - read:
        many = counted(len(skipped), "unread record is", "unread records are")
        return LocalCheck("late", len(skipped), f"{many} before it, and not after it")
    return _right(source, at, target, target_at) or _early(source, at, target[:target_at], target[target_at:])


def check_locally_on(
    source: FlowCluster,
    target: FlowCluster,
    points: Collection[TranslatedPoint],
    ignored: tuple[Ignored, Ignored] = ({}, {}),
) -> Mapping[TranslatedPoint, LocalCheck]:
    """Read the records around translated offsets again, and check each; many at a time.

    :param source: as audit
    :param target: as audit
    :param ignored: what is left out, on the source and on the target
    """
    partitions = {partition for partition, _ in points}
    on_source, on_target = at_once(lambda: held_by(source, partitions), lambda: held_by(target, partitions))
    found: dict[TranslatedPoint, LocalCheck] = {}
    for layer in layers(sorted(set(points))):
        source_ranges = {p: [_around(at.source, on_source[p])] for p, at in layer}
        target_ranges = {p: [_around(at.target, on_target[p])] for p, at in layer}
        records, copies = read_both(source, target, source_ranges, target_ranges, ignored)
        for p, at in layer:
            found[p, at] = check_locally(records.get(p, []), at.source, copies.get(p, []), at.target)
    return found


def _around(offset: int, held: OffsetRange) -> OffsetRange:
    start = min(max(held.start, offset - AROUND), held.end)
    return OffsetRange(start, max(start, min(held.end, offset + AROUND)))


def _right(source: Sequence[Entry], at: int, target: Sequence[Entry], target_at: int) -> LocalCheck | None:
    """Return what equal records before and after the offset show; ``None`` if it does not fit between them.

    :param at: index of the first unread record
    :param target_at: index of the first record that would be read
    """
    forward = equal_records(source, target, at, target_at, step=1)
    backward = equal_records(source, target, at - 1, target_at - 1, step=-1)
    fits_before = backward or at == 0 or target_at == 0
    # Unread records that are not copied yet come after everything that is.
    fits_after = forward or target_at == len(target)
    if not (fits_before and fits_after):
        return None
    if not target:
        return LocalCheck("right", 0, "there is no record near it")
    # Only the next ones: farther off, a lost record and one that looks like it may hide each other.
    if is_distinct(source, target, range(at - min(1, backward), at + min(1, forward))):
        return LocalCheck("right", 0, "the records before and after it are the same on both clusters")
    return LocalCheck("unknown", 0, "the records around it look like others near them")


def _early(source: Sequence[Entry], at: int, before: Sequence[Entry], after: Sequence[Entry]) -> LocalCheck:
    """Return how many records come again, if a record near the offset shows it.

    :param at: index of the first unread record
    :param before: the target's records below the offset
    :param after: the target's records from the offset on
    """
    contents, target = [entry.content for entry in after], (*before, *after)
    if at < len(source):
        if source[at].content in contents[1:] and is_distinct(source, target, range(at, at + 1)):
            again = contents.index(source[at].content)
            many = counted(again, "record comes", "records come")
            return LocalCheck("early", again, f"{many} again before the first unread one")
    elif at and source[at - 1].content in contents and is_distinct(source, target, range(at - 1, at)):
        again = contents.index(source[at - 1].content) + 1
        return LocalCheck("early", again, f"{counted(again, 'record comes', 'records come')} again")
    return LocalCheck("unknown", 0, "no record near it shows where it belongs")
