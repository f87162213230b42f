"""Positions of groups, carried from one cluster to the other, and how sure each is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from kafka_dr.offsets.translate.local_check import Verdict
from kafka_dr.positions import TopicPartition

#: ``exact``: nothing is skipped and nothing delivered again. ``bounded``: nothing is skipped, and what may be delivered
#: again is counted. ``declared``: its owners chose a start that may skip records, and how many is counted. ``unknown``:
#: no position can be given.
Kind = Literal["exact", "bounded", "declared", "unknown"]
_SUREST_FIRST: tuple[str, ...] = get_args(Kind)


def badness(kind: str) -> int:
    """Return a number that is greater the less sure a place is; a word that is not known is the least sure of all."""
    return _SUREST_FIRST.index(kind) if kind in _SUREST_FIRST else len(_SUREST_FIRST)


@dataclass(frozen=True, slots=True)
class Translation:
    """One position on the source, and what it is on the target. Both are next to read.

    :param redelivered_at_most: records below the source position that may be delivered again; ``None`` if unknown
    :param proof: what the records around the place say, whatever led to it
    """

    source_offset: int
    target_offset: int | None
    kind: Kind
    redelivered_at_most: int | None
    reason: str
    proof: Verdict = "unknown"


@dataclass(frozen=True, slots=True)
class TranslatedOffset:
    """A group's position in a partition on the source, and what it is on the target. Both are next to read.

    :param skipped_at_most: unread records that it goes past, by its owners' choice; 0 for every other one
    """

    group: str
    partition: TopicPartition
    source_offset: int
    target_offset: int | None
    kind: Kind
    redelivered_at_most: int | None
    reason: str
    skipped_at_most: int | None = 0
    proof: Verdict = "unknown"

    @property
    def place(self) -> Translation:
        """Where it goes on, whichever group it is."""
        return Translation(
            self.source_offset, self.target_offset, self.kind, self.redelivered_at_most, self.reason, self.proof
        )


class OffsetMap(Protocol):
    """Carries positions from the source to the target. Never late: no unread record lies below what it answers."""

    def translate(
        self, positions: Mapping[TopicPartition, Collection[int]]
    ) -> Mapping[tuple[TopicPartition, int], Translation]:
        """Translate positions.

        :param positions: next to read on the source, by partition
        :returns: an answer for every one of them
        """
        ...


def translate_groups(
    offsets: OffsetMap, committed: Mapping[str, Mapping[TopicPartition, int]]
) -> tuple[TranslatedOffset, ...]:
    """Translate what groups have committed. A position that several groups share is looked up once.

    :param committed: next to read on the source, by group; a partition without a commit is not in it
    """
    positions: dict[TopicPartition, set[int]] = {}
    for by_partition in committed.values():
        for partition, offset in by_partition.items():
            positions.setdefault(partition, set()).add(offset)
    translated = offsets.translate(positions)
    return tuple(
        _of_group(group, partition, translated[partition, committed[group][partition]])
        for group in sorted(committed)
        for partition in _sorted(committed[group])
    )


def starts_of_empty(
    committed: Mapping[str, Mapping[TopicPartition, int]], empty: Collection[TopicPartition]
) -> tuple[TranslatedOffset, ...]:
    """Give groups a position in partitions of their topics that they never committed to and that hold no record.

    Every start is the same there, and a position of its own keeps a group that starts at the latest record from
    passing by the first one. A partition that holds records is left to the group's own reset, as it is on the source.

    :param empty: partitions that never held a record, on either side
    """
    reason = "never committed, and there is no record: from the start"
    return tuple(
        TranslatedOffset(group, partition, 0, 0, "exact", 0, reason, proof="right")
        for group, offsets in sorted(committed.items())
        for partition in _sorted(empty)
        if partition not in offsets and partition.topic in {p.topic for p in offsets}
    )


def _of_group(group: str, partition: TopicPartition, found: Translation) -> TranslatedOffset:
    return TranslatedOffset(
        group=group,
        partition=partition,
        source_offset=found.source_offset,
        target_offset=found.target_offset,
        kind=found.kind,
        redelivered_at_most=found.redelivered_at_most,
        reason=found.reason,
        proof=found.proof,
    )


def _sorted(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return sorted(partitions)
