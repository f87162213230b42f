"""The proof of places that somebody claims: what lies around each is read again, on both clusters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kafka_dr.audit import Entry
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.offsets.neighbours import Proven, judge
from kafka_dr.offsets.reading import both, both_ways, entries_of

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
