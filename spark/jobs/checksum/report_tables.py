"""The tables of a checksum audit's report, for analysis with any tool that reads Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from copy_audit.digests import Digests
from kafka_dr.audit.kept_map import Runs
from kafka_dr.positions import TopicPartition

_FINDINGS = pa.schema(
    [
        ("kind", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("source_offset", pa.int64()),
        ("target_offset", pa.int64()),
        ("count", pa.int64()),
        ("timestamp", pa.int64()),
        ("detail", pa.string()),
    ]
)
_DIGESTS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("minute", pa.int64()),
        ("source_records", pa.int64()),
        ("source_sum", pa.int64()),
        ("target_records", pa.int64()),
        ("target_sum", pa.int64()),
    ]
)
_MAP = pa.schema(
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


def findings_table(found: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return findings as rows.

    :param found: the lines of ``findings.jsonl``
    """
    return pa.Table.from_pylist(list(found), _FINDINGS)


def digests_table(digests: Mapping[TopicPartition, Digests | None]) -> pa.Table:
    """Return digests by minute as rows; they add up over audits, modulo 2^64."""
    tables = [_DIGESTS.empty_table()]
    for partition, found in digests.items():
        if found is not None and len(found.minutes):
            names = [[value] * len(found.minutes) for value in (partition.topic, partition.partition)]
            columns = [*names, found.minutes, *found.source.T, *found.target.T]
            tables.append(pa.table(dict(zip(_DIGESTS.names, columns, strict=True)), schema=_DIGESTS))
    return pa.concat_tables(tables)


def parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a small Parquet file; rising numbers are stored as differences."""
    buffer = io.BytesIO()
    rising = [
        name
        for name in ("source_start", "target_start", "source_offset", "target_offset")
        if name in table.column_names
    ]
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        use_dictionary=[name for name in table.column_names if name not in rising],
        column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    )
    return buffer.getvalue()


def map_table(runs: Runs) -> pa.Table:
    """Return runs of the offset map as rows."""
    columns: list[list[Any]] = [[] for _ in _MAP.names]
    for key, found in runs.items():
        for run in found:
            for column, value in zip(columns, (*key, *run), strict=True):
                column.append(value)
    return pa.table(dict(zip(_MAP.names, columns, strict=True)), schema=_MAP)
