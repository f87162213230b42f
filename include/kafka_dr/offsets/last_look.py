"""The last look at an active cluster: what nobody can ask once it is dead. A small file, replaced as a whole.

It is under the evidence root, outside the datacenter of that cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.audit.whole_file import read_json, write_whole
from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import by_name, rows_of
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


_SCHEMA_VERSION = 1
_OF_A_GROUP = {"named": "group", "holding": "positions"}


@dataclass(frozen=True, slots=True)
class LastLook:
    """What was seen of the active cluster.

    :param epoch: of the register, whose active cluster this is
    :param at: when, aware: everything here is from that moment or shortly after it
    :param ends: last stable offset by partition
    :param groups: what groups had committed there, next to read
    :param waiting: offsets of records that were not copied yet, by partition; not all of them if there are many
    :param more_than_offsets: groups that an offset alone does not move, a sentence each
    :param elsewhere: what these groups read outside the protection group; ``None`` if nobody asked
    :param elsewhere_unknown: of which groups it is not known, and why, a sentence each
    """

    epoch: int
    at: datetime
    ends: Mapping[TopicPartition, int]
    groups: Mapping[str, Mapping[TopicPartition, int]]
    waiting: Mapping[TopicPartition, tuple[int, ...]]
    more_than_offsets: tuple[str, ...] = ()
    elsewhere: tuple[Elsewhere, ...] | None = None
    elsewhere_unknown: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"the look is stamped {self.at}, which has no time zone: pass an aware datetime")

    def certainly_lost(self, copied: Mapping[TopicPartition, int]) -> int:
        """Count records that were seen and not copied: at least so many are missing on the target.

        :param copied: next to copy, by partition, when the flow ended; a partition that is not in it does not count
        """
        return sum(sum(1 for offset in seen if offset >= copied[p]) for p, seen in self.waiting.items() if p in copied)


class FileLookStore:
    """Keeps the last look at each direction of a protection group.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    """

    def __init__(self, root: Any, group: str) -> None:
        self._folder = root.joinpath("last_looks", group)

    def read(self, direction: str) -> LastLook | None:
        """Return the last look; ``None`` if there never was one.

        :raises NeedsPerson: there is a file, and it cannot be read
        """
        path = self._file(direction)
        try:
            return _from_json(read_json(path, schema=_SCHEMA_VERSION))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NeedsPerson(
                f"the last look in {path} cannot be read ({error}): restore the file from a copy"
            ) from error

    def write(self, direction: str, look: LastLook) -> None:
        """Replace what was kept. A reader sees the old file or the new one, never a part of it."""
        write_whole(self._file(direction), json.dumps(_to_json(look), sort_keys=True).encode())

    def _file(self, direction: str) -> Any:
        return self._folder.joinpath(f"{direction}.json")


def _to_json(look: LastLook) -> dict[str, Any]:
    return {
        "schema_version": _SCHEMA_VERSION,
        "epoch": look.epoch,
        "at": look.at.astimezone(UTC).isoformat(),
        "ends": _rows(look.ends),
        "groups": rows_of({group: _rows(found) for group, found in look.groups.items()}, **_OF_A_GROUP),
        "waiting": _rows(look.waiting),
        "more_than_offsets": look.more_than_offsets,
        "elsewhere": None if look.elsewhere is None else [each.to_json() for each in look.elsewhere],
        "elsewhere_unknown": look.elsewhere_unknown,
    }


def _rows(values: Mapping[TopicPartition, Any]) -> list[list[Any]]:
    return [[p.topic, p.partition, value] for p, value in sorted(values.items())]


def _from_json(content: Any) -> LastLook:
    elsewhere = content.get("elsewhere")
    return LastLook(
        epoch=int(content["epoch"]),
        at=datetime.fromisoformat(content["at"]),
        ends=_offsets(content["ends"]),
        groups={group: _offsets(rows) for group, rows in by_name(content["groups"], **_OF_A_GROUP).items()},
        waiting={
            TopicPartition(str(topic), int(number)): tuple(int(offset) for offset in offsets)
            for topic, number, offsets in content["waiting"]
        },
        more_than_offsets=tuple(map(str, content.get("more_than_offsets", ()))),
        # A look that a former version wrote does not contain it.
        elsewhere=None if elsewhere is None else tuple(map(Elsewhere.from_json, elsewhere)),
        elsewhere_unknown=tuple(map(str, content.get("elsewhere_unknown", ()))),
    )


def _offsets(rows: Any) -> dict[TopicPartition, int]:
    return {TopicPartition(str(topic), int(number)): int(offset) for topic, number, offset in rows}
