"""What Spark encrypts is what this project decrypts, and no plan shows the key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from kafka_dr.rescue.content import content_opener
from support.kept_list import CONTENT_KEYS, kept_list

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

ROWS: list[tuple[object, ...]] = [
    ("t", 0, 0, -1, None, None, None),
    ("t", 0, 1, 1_700_000_000_000, b"", b"", []),
    ("t", 1, 5, 3, b"alice", b"secret" * 100_000, [("h", None), ("hé", b"x")]),
    ("t", 1, 6, 4, b"alice", None, [("", b"")]),
]
SCHEMA = (
    "topic string, partition int, offset bigint, timestamp bigint, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)


def test_each_record_is_opened_as_it_was_and_counted_without_its_key_in_any_plan(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import PySparkException

    from kafka_dr_spark.encrypted_records import decrypted, encrypted, key_relation
    from kafka_dr_spark.stranded_records import counted, measured

    found = kept_list(tmp_path / "list", CONTENT_KEYS)
    assert found.encryption is not None
    secret = CONTENT_KEYS.content_key(found.encryption)
    records, key = spark.createDataFrame(ROWS, SCHEMA), key_relation(spark, secret)
    written = encrypted(records, key)
    written.write.parquet(str(tmp_path / "kept"))

    opened = content_opener(found, CONTENT_KEYS)
    rows = sorted((opened(row) for row in pq.read_table(tmp_path / "kept").to_pylist()), key=lambda row: row["offset"])
    names = ("topic", "partition", "offset", "timestamp", "key", "value")
    assert [tuple(row[name] for name in names) for row in rows] == [row[:6] for row in ROWS]
    assert [[(each["key"], each["value"]) for each in row["headers"]] for row in rows] == [row[6] or [] for row in ROWS]
    assert not any(b"secret" in path.read_bytes() for path in (tmp_path / "kept").glob("*.parquet"))

    kept = spark.read.parquet(str(tmp_path / "kept"))
    back = decrypted(kept, key)
    assert sorted(counted(back).collect()) == sorted(counted(measured(records)).collect())
    for frame in (written, back):
        plan = frame._jdf.queryExecution().toString().lower()
        assert "localtablescan" in plan.replace(" ", "") or "localrelation" in plan
        assert not any(shown in plan for shown in (secret.hex(), str(list(secret)), repr(secret)))
    with pytest.raises(PySparkException):
        decrypted(kept, key_relation(spark, b"k" * 32)).collect()
