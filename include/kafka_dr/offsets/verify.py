"""Checks of offsets that were committed: read back, inside of the log, not lower than before. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_dr.positions import Committed, TopicPartition, metadata_of


@dataclass(frozen=True, slots=True)
class CutOverProblem:
    """One committed offset that is not what it must be."""

    group: str
    partition: TopicPartition
    kind: Literal["not_read_back", "past_end", "before_start", "decreased"]
    detail: str


def not_read_back(wanted: Committed, found: Committed) -> tuple[CutOverProblem, ...]:
    """Return the offsets that were set and are not what is read now, with their commit metadata."""
    return tuple(
        CutOverProblem(
            group,
            partition,
            "not_read_back",
            f"set to {offset}, read back {'nothing' if now is None else now if now != offset else 'other metadata'}",
        )
        for group in sorted(wanted)
        for partition, offset in sorted(wanted[group].items())
        if (now := found.get(group, {}).get(partition)) != offset or metadata_of(now) != metadata_of(offset)
    )


def past_end(found: Committed, ends: Mapping[TopicPartition, int]) -> tuple[CutOverProblem, ...]:
    """Return the offsets that are past the end of their partition, or whose partition has no known end."""
    return tuple(
        CutOverProblem(group, partition, "past_end", f"{offset} is past the end {ends.get(partition, 'nothing')}")
        for group in sorted(found)
        for partition, offset in sorted(found[group].items())
        if partition not in ends or offset > ends[partition]
    )


def before_start(found: Committed, starts: Mapping[TopicPartition, int]) -> tuple[CutOverProblem, ...]:
    """Return the offsets whose records are deleted: a group skips what is between such an offset and the log start."""
    return tuple(
        CutOverProblem(group, partition, "before_start", f"{offset} is before the log start {starts[partition]}")
        for group in sorted(found)
        for partition, offset in sorted(found[group].items())
        if offset < starts.get(partition, 0)
    )


def decreased(before: Committed, now: Committed) -> tuple[CutOverProblem, ...]:
    """Return the offsets that are lower than before, or gone."""
    return tuple(
        CutOverProblem(group, partition, "decreased", f"was {offset}, is {'nothing' if present is None else present}")
        for group in sorted(before)
        for partition, offset in sorted(before[group].items())
        if (present := now.get(group, {}).get(partition)) is None or present < offset
    )
