"""How stored files hold topics, groups, clusters and offsets: as rows, because a name is data and never a key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

from kafka_dr.positions import Committed, CommittedOffset, TopicPartition, metadata_of

#: Topics and their ids, for :func:`rows_of` and :func:`by_name`.
ID_OF_A_TOPIC = {"named": "topic", "holding": "topic_id"}


def rows_of(found: Mapping[str, object], *, named: str, holding: str) -> list[dict[str, Any]]:
    """Return a mapping by name as rows, sorted by name.

    :param named: the field of the name, ``topic`` for instance
    :param holding: the field of what the mapping holds
    """
    return [{named: name, holding: found[name]} for name in sorted(found)]


def by_name(stored: Any, *, named: str, holding: str) -> dict[str, Any]:
    """Read what :func:`rows_of` returned.

    :raises KeyError: a row lacks a field
    :raises TypeError: the value is not a list of rows
    """
    return {str(row[named]): row[holding] for row in stored}


def positions_to_json(positions: Mapping[TopicPartition, int]) -> list[list[Any]]:
    """Return offsets by partition as JSON: ``[topic, partition, offset]`` in order, and commit metadata if there is."""
    return [
        [p.topic, p.partition, offset, *filter(None, (metadata_of(offset),))] for p, offset in sorted(positions.items())
    ]


def positions_from_json(rows: Collection[Collection[Any]]) -> dict[TopicPartition, int]:
    """Read what :func:`positions_to_json` wrote."""
    return {
        TopicPartition(str(topic), int(partition)): CommittedOffset(int(offset), str(text[0])) if text else int(offset)
        for topic, partition, offset, *text in rows
    }


class JournaledPositions(Mapping[TopicPartition, int]):
    """Offsets by partition, read from their rows when they are first looked at: of most seeds only the epoch is needed.

    :param rows: what :func:`positions_to_json` wrote
    """

    def __init__(self, rows: Collection[Collection[Any]]) -> None:
        self._rows = rows

    @cached_property
    def _read(self) -> dict[TopicPartition, int]:
        return positions_from_json(self._rows)

    def __getitem__(self, partition: TopicPartition) -> int:
        """Return the offset of a partition."""
        return self._read[partition]

    def __iter__(self) -> Iterator[TopicPartition]:
        """Return the partitions."""
        return iter(self._read)

    def __len__(self) -> int:
        """Return how many partitions there are."""
        return len(self._rows)

    def __repr__(self) -> str:
        """Return the offsets."""
        return repr(self._read)


def groups_to_json(groups: Committed) -> list[dict[str, Any]]:
    """Return offsets by consumer group as JSON: a row for each group, with :func:`positions_to_json` of its own."""
    rows = {group: positions_to_json(found) for group, found in groups.items()}
    return rows_of(rows, named="group", holding="positions")


def groups_from_json(stored: Any) -> dict[str, dict[TopicPartition, int]]:
    """Read what :func:`groups_to_json` wrote."""
    found = by_name(stored, named="group", holding="positions")
    return {group: positions_from_json(rows) for group, rows in found.items()}
