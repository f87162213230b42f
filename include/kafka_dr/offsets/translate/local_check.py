"""What the records before and after a place say about it. Pure: records in, a verdict out.

It looks only at what lies around the place, and at nothing that led to it. So it says whether a place is right, whoever
found it: an audit's map, a comparison of content, a checkpoint. Where records look alike it says that it cannot tell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from kafka_dr.audit import Entry
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.offsets.translate.read_logs import both, both_ways, entries_of

#: ``right``: the next record is the first unread one. ``early``: some come again. ``late``: one is skipped.
Verdict = Literal["right", "early", "late", "unknown"]


@dataclass(frozen=True, slots=True)
class Proven:
    """What the records around a place say.

    :param records: how many come again (early), or are skipped at least (late)
    """

    verdict: Verdict
    records: int
    detail: str


@dataclass(frozen=True, slots=True)
class _Side:
    """The contents on either side of a place, in order."""

    before: Sequence[bytes]
    after: Sequence[bytes]

    @classmethod
    def of(cls, entries: Sequence[Entry], offset: int) -> _Side:
        contents, at = [entry.content for entry in entries], bisect_left(entries, (offset,))
        return cls(contents[:at], contents[at:])


def judge(source: Sequence[Entry], position: int, target: Sequence[Entry], place: int) -> Proven:
    """Judge a place by what lies around it on both sides.

    :param source: records around the position, in order
    :param position: next to read on the source
    :param target: records around the place, in order
    :param place: next to read on the target
    """
    here, there = _Side.of(source, position), _Side.of(target, place)
    skipped = (set(here.after) & set(there.before)) - set(there.after) - set(here.before)
    if skipped:
        return Proven("late", len(skipped), f"{len(skipped)} unread records lie before it, and not behind it")
    return _right(here, there) or _early(here, there)


def _right(here: _Side, there: _Side) -> Proven | None:
    forward = _equal(here.after, there.after)
    backward = _equal(here.before[::-1], there.before[::-1])
    fits_before = backward or not here.before or not there.before
    # Unread records that are not copied yet come behind everything that is.
    fits_after = forward or not there.after
    if not (fits_before and fits_after):
        return None
    if not there.before and not there.after:
        return Proven("right", 0, "there is no record near it")
    # Only the next ones: farther off, a lost record and one that looks like it may make up for each other.
    if _tells([*here.before[-1:][:backward], *here.after[:1][:forward]], here, there):
        return Proven("right", 0, "the records before and after it are the same on both sides")
    return Proven("unknown", 0, "the records around it look like others near them")


def _early(here: _Side, there: _Side) -> Proven:
    if here.after:
        if here.after[0] in there.after[1:] and _tells(here.after[:1], here, there):
            again = there.after.index(here.after[0])
            return Proven("early", again, f"{again} records come again before the first unread one")
    elif here.before and here.before[-1] in there.after and _tells(here.before[-1:], here, there):
        again = there.after.index(here.before[-1]) + 1
        return Proven("early", again, f"{again} records come again")
    return Proven("unknown", 0, "no record near it says where it belongs")


def _equal(ours: Sequence[bytes], theirs: Sequence[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))


def _tells(matched: Sequence[bytes], here: _Side, there: _Side) -> bool:
    """Return whether one of the matched records occurs nowhere else near it, on either side."""
    ours, theirs = Counter([*here.before, *here.after]), Counter([*there.before, *there.after])
    return any(ours[content] == 1 == theirs[content] for content in matched)


#: Offsets that are looked at on either side of a place.
AROUND = 48


@dataclass(frozen=True, slots=True)
class Claim:
    """A position and its place. Both are next to read."""

    partition: TopicPartition
    source_offset: int
    target_offset: int


def prove(source: KafkaCluster, target: KafkaCluster, claims: Collection[Claim]) -> Mapping[Claim, Proven]:
    """Judge places on both clusters, many at a time.

    :param source: as audit
    :param target: as audit
    """
    wanted = sorted(set(claims), key=lambda claim: (claim.partition, claim.source_offset, claim.target_offset))
    partitions = {claim.partition for claim in wanted}
    here, there = both(lambda: _held(source, partitions), lambda: _held(target, partitions))
    proven: dict[Claim, Proven] = {}
    for layer in _layers(wanted):
        ours = {c.partition: _around(c.source_offset, here[c.partition]) for c in layer}
        theirs = {c.partition: _around(c.target_offset, there[c.partition]) for c in layer}
        read, copied = _read_both(source, target, ours, theirs)
        proven |= {c: _judged(c, read, copied) for c in layer}
    return proven


def _judged(
    claim: Claim, source: Mapping[TopicPartition, list[Entry]], target: Mapping[TopicPartition, list[Entry]]
) -> Proven:
    here, there = source.get(claim.partition, []), target.get(claim.partition, [])
    return judge(here, claim.source_offset, there, claim.target_offset)


def _read_both(
    source: KafkaCluster,
    target: KafkaCluster,
    ours: Mapping[TopicPartition, OffsetRange],
    theirs: Mapping[TopicPartition, OffsetRange],
) -> tuple[dict[TopicPartition, list[Entry]], dict[TopicPartition, list[Entry]]]:
    return both_ways(*both(lambda: entries_of(source, ours), lambda: entries_of(target, theirs)))


def _held(cluster: KafkaCluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    starts, ends = cluster.topics.log_starts(partitions), cluster.topics.last_stable_offsets(partitions)
    return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in partitions}


def _around(offset: int, held: OffsetRange) -> OffsetRange:
    start = min(max(held.start, offset - AROUND), held.end)
    return OffsetRange(start, max(start, min(held.end, offset + AROUND)))


def _layers(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Put the claims into layers, each with at most one of every partition: what one consumer reads at once."""
    layers: list[list[Claim]] = []
    seen: dict[TopicPartition, int] = {}
    for claim in claims:
        number = seen.get(claim.partition, 0)
        seen[claim.partition] = number + 1
        if number == len(layers):
            layers.append([])
        layers[number].append(claim)
    return layers
