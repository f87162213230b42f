"""The offset map as a table, for whoever analyses it. What reads it in a failover is :mod:`kafka_dr.audit.kept_map`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_dr.audit.kept_map import Runs

_SCHEMA = pa.schema(
    [
        ("epoch", pa.int64()),
        ("source_topic_id", pa.string()),
        ("target_topic_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("source_start", pa.int64()),
        ("target_start", pa.int64()),
        ("length", pa.int64()),
    ]
)


def map_table(runs: Runs) -> pa.Table:
    """Return runs as rows."""
    columns: list[list[Any]] = [[] for _ in _SCHEMA.names]
    for key, found in runs.items():
        for run in found:
            for column, value in zip(columns, (*key, *run), strict=True):
                column.append(value)
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True)), schema=_SCHEMA)
