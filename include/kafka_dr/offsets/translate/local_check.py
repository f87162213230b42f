"""Checks a translated offset by the records before and after it, on both clusters.

The check looks at nothing that led to the offset. So it says whether an offset is right whatever found it: an audit's
map, a comparison of content, a checkpoint. If records near it look alike, it says that it does not know.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from kafka_dr.audit import Entry
from kafka_dr.clusters import KafkaCluster
from kafka_dr.offsets.translate.read_logs import both_ways, entries_of, held_by, layers
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


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The contents before and after an offset, in order."""

    before: Sequence[bytes]
    after: Sequence[bytes]


def check_locally(source: Sequence[Entry], position: int, target: Sequence[Entry], translated: int) -> LocalCheck:
    """Check a translated offset by the records around it on both clusters.

    :param source: records around the position, in order
    :param position: next to read on the source
    :param target: records around the translated offset, in order
    :param translated: next to read on the target
    """
    on_source, on_target = (
        _Surroundings([e.content for e in entries[:at]], [e.content for e in entries[at:]])
        for entries, at in (
            (source, bisect_left(source, (position,))),
            (target, bisect_left(target, (translated,))),
        )
    )
    skipped = (set(on_source.after) & set(on_target.before)) - set(on_target.after) - set(on_source.before)
    if skipped:
        return LocalCheck("late", len(skipped), f"{len(skipped)} unread records are before it, and not after it")
    return _right(on_source, on_target) or _early(on_source, on_target)


def check_locally_on(
    source: KafkaCluster, target: KafkaCluster, points: Collection[TranslatedPoint]
) -> Mapping[TranslatedPoint, LocalCheck]:
    """Read the records around translated offsets again, and check each; many at a time.

    :param source: as audit
    :param target: as audit
    """
    partitions = {partition for partition, _ in points}
    on_source, on_target = at_once(lambda: held_by(source, partitions), lambda: held_by(target, partitions))
    found: dict[TranslatedPoint, LocalCheck] = {}
    for layer in layers(sorted(set(points))):
        source_ranges = {p: _around(at.source, on_source[p]) for p, at in layer}
        target_ranges = {p: _around(at.target, on_target[p]) for p, at in layer}
        records, copies = both_ways(*_read(source, source_ranges, target, target_ranges))
        for p, at in layer:
            found[p, at] = check_locally(records.get(p, []), at.source, copies.get(p, []), at.target)
    return found


def _read(
    source: KafkaCluster,
    source_ranges: Mapping[TopicPartition, OffsetRange],
    target: KafkaCluster,
    target_ranges: Mapping[TopicPartition, OffsetRange],
) -> tuple[dict[TopicPartition, list[Entry]], dict[TopicPartition, list[Entry]]]:
    return at_once(lambda: entries_of(source, source_ranges), lambda: entries_of(target, target_ranges))


def _around(offset: int, held: OffsetRange) -> OffsetRange:
    start = min(max(held.start, offset - AROUND), held.end)
    return OffsetRange(start, max(start, min(held.end, offset + AROUND)))


def _right(on_source: _Surroundings, on_target: _Surroundings) -> LocalCheck | None:
    forward = _equal(on_source.after, on_target.after)
    backward = _equal(on_source.before[::-1], on_target.before[::-1])
    fits_before = backward or not on_source.before or not on_target.before
    # Unread records that are not copied yet come after everything that is.
    fits_after = forward or not on_target.after
    if not (fits_before and fits_after):
        return None
    if not on_target.before and not on_target.after:
        return LocalCheck("right", 0, "there is no record near it")
    # Only the next ones: farther off, a lost record and one that looks like it may hide each other.
    if _is_unique([*on_source.before[-1:][:backward], *on_source.after[:1][:forward]], on_source, on_target):
        return LocalCheck("right", 0, "the records before and after it are the same on both clusters")
    return LocalCheck("unknown", 0, "the records around it look like others near them")


def _early(on_source: _Surroundings, on_target: _Surroundings) -> LocalCheck:
    if on_source.after:
        if on_source.after[0] in on_target.after[1:] and _is_unique(on_source.after[:1], on_source, on_target):
            again = on_target.after.index(on_source.after[0])
            return LocalCheck("early", again, f"{again} records come again before the first unread one")
    elif (
        on_source.before
        and on_source.before[-1] in on_target.after
        and _is_unique(on_source.before[-1:], on_source, on_target)
    ):
        again = on_target.after.index(on_source.before[-1]) + 1
        return LocalCheck("early", again, f"{again} records come again")
    return LocalCheck("unknown", 0, "no record near it shows where it belongs")


def _equal(source: Sequence[bytes], target: Sequence[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(source, target, strict=False)))


def _is_unique(matched: Sequence[bytes], on_source: _Surroundings, on_target: _Surroundings) -> bool:
    """Return whether one of the matched records occurs nowhere else near it, on either cluster."""
    source, target = Counter([*on_source.before, *on_source.after]), Counter([*on_target.before, *on_target.after])
    return any(source[content] == 1 == target[content] for content in matched)
