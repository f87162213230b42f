"""What must hold after the offsets of groups were set on the target. Pure comparisons of plain offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_dr.positions import TopicPartition

#: Committed offsets by group and partition, next to read.
Committed = Mapping[str, Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class CutOverProblem:
    """One position that is not what it must be."""

    group: str
    partition: TopicPartition
    kind: Literal["not_read_back", "past_end", "decreased"]
    detail: str


def not_read_back(wanted: Committed, found: Committed) -> tuple[CutOverProblem, ...]:
    """Return the positions that were set and are not what is read now."""
    return tuple(
        CutOverProblem(group, partition, "not_read_back", f"set to {offset}, read back {_shown(now)}")
        for group, partition, offset in _each(wanted)
        if (now := found.get(group, {}).get(partition)) != offset
    )


def past_end(found: Committed, ends: Mapping[TopicPartition, int]) -> tuple[CutOverProblem, ...]:
    """Return the positions that lie past the end of their partition, or whose partition has no known end."""
    return tuple(
        CutOverProblem(group, partition, "past_end", f"{offset} is past the end {_shown(ends.get(partition))}")
        for group, partition, offset in _each(found)
        if partition not in ends or offset > ends[partition]
    )


def decreased(before: Committed, now: Committed) -> tuple[CutOverProblem, ...]:
    """Return the positions that are lower than before, or gone."""
    return tuple(
        CutOverProblem(group, partition, "decreased", f"was {offset}, is {_shown(present)}")
        for group, partition, offset in _each(before)
        if (present := now.get(group, {}).get(partition)) is None or present < offset
    )


def _each(committed: Committed) -> Iterator[tuple[str, TopicPartition, int]]:
    for group in sorted(committed):
        for partition in sorted(committed[group]):
            yield group, partition, committed[group][partition]


def _shown(offset: int | None) -> str:
    return "nothing" if offset is None else str(offset)
