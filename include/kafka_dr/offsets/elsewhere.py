"""What consumer groups of a protection group read outside it: such a position has no place on the other cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.positions import TopicPartition


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A topic outside the protection group that one of its consumer groups reads.

    :param positions: what the group has committed there, next to read, by number of the partition
    :param live: whether members have it assigned, or have subscribed to it
    """

    group: str
    topic: str
    positions: Mapping[int, int]
    live: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as a row, as it is journaled and kept as evidence."""
        positions = [[number, offset] for number, offset in sorted(self.positions.items())]
        return {"group": self.group, "topic": self.topic, "positions": positions, "live": self.live}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Elsewhere:
        """Read what :meth:`to_json` wrote."""
        positions = {int(number): int(offset) for number, offset in row["positions"]}
        return cls(str(row["group"]), str(row["topic"]), positions, bool(row["live"]))


def read_elsewhere(
    owns: Callable[[str], bool],
    committed: Mapping[str, Mapping[TopicPartition, int]],
    live: Mapping[str, Collection[str]],
) -> tuple[Elsewhere, ...]:
    """Return what groups read outside a protection group, by group and topic.

    :param owns: whether a topic belongs to the protection group
    :param committed: what groups have committed, next to read
    :param live: the topics that live members of groups read
    """
    found: dict[tuple[str, str], dict[int, int]] = {}
    for group, offsets in committed.items():
        for partition, offset in offsets.items():
            found.setdefault((group, partition.topic), {})[partition.partition] = offset
    for group, topics in live.items():
        for topic in topics:
            found.setdefault((group, topic), {})
    return tuple(
        Elsewhere(group, topic, positions, topic in live.get(group, ()))
        for (group, topic), positions in sorted(found.items())
        if not owns(topic)
    )
