"""The proof of a place: the records before and after it are the same on both sides.

It looks only at what lies around the place, and at nothing that led to it. So it says whether a place is right, whoever
found it: an audit's map, a comparison of content, a checkpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.audit import Entry
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.offsets.reading import both, entries_of

#: Offsets that are looked at on either side of a place.
AROUND = 48
Verdict = Literal["right", "early", "late", "unknown"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A position and its place. Both are next to read."""

    partition: TopicPartition
    source_offset: int
    target_offset: int


@dataclass(frozen=True, slots=True)
class Proven:
    """What the records around a place say.

    :param records: how many come again (early), or are skipped at least (late)
    """

    verdict: Verdict
    records: int
    detail: str


def judge(claim: Claim, source: Sequence[Entry], target: Sequence[Entry]) -> Proven:
    """Judge a place by what lies around it on both sides.

    :param source: records around the position, in order
    :param target: records around the place, in order
    """
    read = [e.content for e in source if e.offset < claim.source_offset]
    unread = [e.content for e in source if e.offset >= claim.source_offset]
    before = [e.content for e in target if e.offset < claim.target_offset]
    after = [e.content for e in target if e.offset >= claim.target_offset]
    same_before = not read or not before or read[-1] == before[-1]
    if not unread:
        return _at_the_end(read, before, after)
    if after and unread[0] == after[0]:
        if same_before:
            return Proven("right", 0, "the records before and after it are the same on both sides")
        return Proven("unknown", 0, "the record after it is the same, the one before it is another")
    if unread[0] in after:
        again = after.index(unread[0])
        return Proven("early", again, f"{again} records come again before the first unread one")
    if unread[0] in before:
        skipped = len(before) - before[::-1].index(unread[0]) - 1
        return Proven("late", len(before) - skipped, "the first unread record lies before it")
    if not after and same_before:
        return Proven("right", 0, "the record before it is the same; the unread ones are not copied yet")
    return Proven("unknown", 0, "the first unread record was not found near it")


def _at_the_end(read: Sequence[bytes], before: Sequence[bytes], after: Sequence[bytes]) -> Proven:
    """Everything is read: what matters is that the last record read lies right before the place."""
    if not read and not after:
        return Proven("right", 0, "there is no record near it on either side")
    if read and before and read[-1] == before[-1] and not after:
        return Proven("right", 0, "the record before it is the same, and none follows on either side")
    if read and read[-1] in after:
        again = len(after) - after[::-1].index(read[-1])
        return Proven("early", again, f"{again} records come again")
    return Proven("unknown", 0, "the last record read was not found near it")


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
        proven |= {c: judge(c, read.get(c.partition, []), copied.get(c.partition, [])) for c in layer}
    return proven


def _read_both(
    source: KafkaCluster,
    target: KafkaCluster,
    ours: Mapping[TopicPartition, OffsetRange],
    theirs: Mapping[TopicPartition, OffsetRange],
) -> tuple[dict[TopicPartition, list[Entry]], dict[TopicPartition, list[Entry]]]:
    return both(lambda: entries_of(source, ours), lambda: entries_of(target, theirs))


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
