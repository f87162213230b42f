"""The tables of a checksum audit's report, for analysis with any tool that reads Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from copy_audit.digests import Digests
from kafka_dr.audit.kept_map import Runs
from kafka_dr.positions import TopicPartition

#: Findings that are made into rows at once.
_AT_ONCE = 50_000
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


def findings_parquet(found: Iterable[Mapping[str, Any]]) -> bytes:
    """Return findings as the bytes of a Parquet file; memory holds few of them at once, however many there are.

    :param found: the lines of ``findings.jsonl``
    """
    buffer, rest = io.BytesIO(), iter(found)
    with pq.ParquetWriter(buffer, _FINDINGS, **_how(_FINDINGS.names)) as writer:
        while some := list(islice(rest, _AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, _FINDINGS))
    return buffer.getvalue()


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
    pq.write_table(table, buffer, **_how(table.column_names))
    return buffer.getvalue()


def _how(columns: Sequence[str]) -> dict[str, Any]:
    """Return how columns are stored: rising numbers as differences."""
    rising = [name for name in ("source_start", "target_start", "source_offset", "target_offset") if name in columns]
    return {
        "compression": "zstd",
        "use_dictionary": [name for name in columns if name not in rising],
        "column_encoding": dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    }


def map_table(runs: Runs) -> pa.Table:
    """Return runs of the offset map as rows."""
    columns: list[list[Any]] = [[] for _ in _MAP.names]
    for key, found in runs.items():
        for run in found:
            for column, value in zip(columns, (*key, *run), strict=True):
                column.append(value)
    return pa.table(dict(zip(_MAP.names, columns, strict=True)), schema=_MAP)
