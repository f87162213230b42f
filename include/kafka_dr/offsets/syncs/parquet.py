"""Offset syncs as Parquet. A module of its own, so that a step of a failover that reads no archive does not load
Arrow."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_dr.causes import cause
from kafka_dr.offsets.syncs.files import SyncRow

_SCHEMA = pa.schema(
    [
        ("at", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("source_offset", pa.int64()),
        ("target_offset", pa.int64()),
        ("synced_ms", pa.int64()),
        ("source_topic_id", pa.string()),
        ("target_topic_id", pa.string()),
    ]
)
_RISING = ("at", "source_offset", "target_offset", "synced_ms")
_CLUSTERS = b"kafka_dr.clusters"


def from_rows(rows: Sequence[SyncRow]) -> pa.Table:
    """Return syncs as a table."""
    columns = (
        [row.sync.at for row in rows],
        [row.partition.topic for row in rows],
        [row.partition.partition for row in rows],
        [row.sync.source for row in rows],
        [row.sync.target for row in rows],
        [row.sync.synced_ms for row in rows],
        [row.topic_ids[0] for row in rows],
        [row.topic_ids[1] for row in rows],
    )
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True)), schema=_SCHEMA)


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """Return several tables as one."""
    return pa.concat_tables(tables)


def encoded(table: pa.Table, *, clusters: bytes) -> bytes:
    """Return a table as the bytes of a file.

    :param clusters: whose syncs these are
    """
    buffer = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({_CLUSTERS: clusters}),
        buffer,
        compression="zstd",
        use_dictionary=[name for name in _SCHEMA.names if name not in _RISING],
        column_encoding=dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
    )
    return buffer.getvalue()


def decoded(content: bytes, *, clusters: bytes, topics: Collection[str] | None) -> pa.Table:
    """Return the syncs of a file.

    :param topics: of these alone; ``None`` for all
    :raises ValueError: the bytes are no such file, or a file of other clusters
    """
    try:
        # Without threads: one of Arrow's that is not idle at the end of the process aborts it (apache/arrow#34314).
        file = pq.ParquetFile(io.BytesIO(content), pre_buffer=False)
        of = (file.schema_arrow.metadata or {}).get(_CLUSTERS)
        if of != clusters:
            raise ValueError(f"it is of the clusters {(of or b'').decode()}, expected {clusters.decode()}")
        table = file.read(use_threads=False).select(_SCHEMA.names).cast(_SCHEMA)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(cause(error)) from error
    if topics is None:
        return table
    return table.filter(pc.is_in(table["topic"], value_set=pa.array(sorted(topics), pa.string())))


def rows_of(table: pa.Table) -> Iterable[tuple[Any, ...]]:
    """Return the rows, each in the order of the columns: its offset, partition, offsets, time, topic ids."""
    return zip(*(table[name].to_pylist() for name in _SCHEMA.names), strict=True)


def earliest(tables: Sequence[pa.Table]) -> int:
    """Return when the first sync was written, in milliseconds since the epoch; 0 if there is none."""
    found = [pc.min(table["synced_ms"]).as_py() for table in tables if len(table)]
    return min((each for each in found if each is not None), default=0)
