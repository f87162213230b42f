"""Offsets by partition and by consumer group, as the journal and the evidence keep them: rows, never keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.named_rows import by_name, rows_of


def positions_to_json(positions: Mapping[TopicPartition, int]) -> list[list[Any]]:
    """Return offsets by partition as JSON: ``[topic, partition, offset]`` in order."""
    return [[p.topic, p.partition, offset] for p, offset in sorted(positions.items())]


def groups_to_json(groups: Mapping[str, Mapping[TopicPartition, int]]) -> list[dict[str, Any]]:
    """Return positions by consumer group as JSON: a row for each group, with :func:`positions_to_json` of its own."""
    rows = {group: positions_to_json(found) for group, found in groups.items()}
    return rows_of(rows, named="group", holding="positions")


def groups_from_json(stored: Any) -> dict[str, dict[TopicPartition, int]]:
    """Read what :func:`groups_to_json` wrote, or the mapping by group that former versions did."""
    found = by_name(stored, named="group", holding="positions")
    return {group: positions_from_json(rows) for group, rows in found.items()}


def positions_from_json(rows: Collection[Collection[Any]]) -> dict[TopicPartition, int]:
    """Read what :func:`positions_to_json` wrote."""
    return {TopicPartition(topic, partition): offset for topic, partition, offset in rows}
