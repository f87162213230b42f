"""Records that no cluster has, as a data frame with the columns in which Spark's Kafka source returns records."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_dr.clusters import Record

_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def in_memory(session: SparkSession, records: Sequence[Record]) -> DataFrame:
    """Return a few records as if they had been read from Kafka."""
    columns = [
        [each.key for each in records],
        [each.value for each in records],
        [each.topic for each in records],
        [each.partition for each in records],
        [each.offset for each in records],
        [each.timestamp_ms * 1000 for each in records],
        [int(each.stamped) for each in records],
        # Kafka's source has no headers, and not an empty list, where a record has none.
        [[{"key": name, "value": value} for name, value in each.headers] or None for each in records],
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=_SCHEMA))
