"""Late records are counted by Spark: how many have a key that was written since, and how many are too old to stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.kept_list import CONTENT_KEYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

SCHEMA = (
    "topic string, partition int, offset bigint, timestamp bigint, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
KEPT: list[tuple[Any, ...]] = [
    ("t", 0, 0, 10, b"again", b"", []),
    ("t", 0, 1, 20, b"again", b"", []),
    ("t", 0, 2, 20, b"Again", b"", []),
    ("t", 1, 0, 20, None, b"", []),
    ("t", 1, 1, 20, b"", None, []),
    ("keeps all", 0, 0, 1, b"again", b"", []),
    ("t", 2, 0, 0, b"erased, so without a time", b"", []),
]
#: Written twice, in another partition, and as a tombstone: each counts once; a key of another topic does not count.
WRITTEN: list[tuple[Any, ...]] = [
    ("t", 5, 7, 30, b"again", b"", []),
    ("t", 5, 8, 30, b"again", None, []),
    ("t", 5, 9, 30, None, b"", []),
    ("t", 6, 9, 30, b"", b"", []),
    ("other", 0, 0, 30, b"Again", b"", []),
]
COUNTED = {("t", 0): (2, 1), ("t", 1): (1, 0), ("keeps all", 0): (0, 0), ("t", 2): (0, 0)}


@pytest.mark.parametrize("encrypts", [False, True])
def test_keys_are_equal_by_their_bytes_and_no_key_is_equal_to_none(spark: SparkSession, encrypts: bool) -> None:
    from kafka_dr_spark.encrypted_records import decrypted, encrypted, key_relation
    from kafka_dr_spark.stranded_records import keys_written, late, measured

    records = spark.createDataFrame(KEPT, SCHEMA)
    key = key_relation(spark, CONTENT_KEYS.content_key(CONTENT_KEYS.new())) if encrypts else None
    kept = measured(records) if key is None else decrypted(encrypted(records, key), key)
    written = keys_written(spark.createDataFrame(WRITTEN, SCHEMA), key)
    for oldest, most in ({"t": 15, "unknown": 9}, 1), ({}, 0):
        found = late(kept, written=written, kept_from_ms=oldest).collect()
        assert {(row["topic"], row["partition"]): (row["written_since"], row["outdated"]) for row in found} == {
            at: (since, min(old, most)) for at, (since, old) in COUNTED.items()
        }
