"""From records to fingerprints: topic, partition, offset, timestamp, and a 64-bit hash of everything else.

All of it is expressions of the JVM. The hash chains the parts from left to right. A null adds nothing to it, so flags
and the number of headers come first, and the end of each part is unambiguous.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

#: The number of a key: 47 bits of its hash, and a bit that marks a deletion. More would not fit into 16 bytes.
_KEY_BITS = 47

#: What Spark's Kafka source calls a time that the broker gave.
_LOG_APPEND_TIME = 1

#: How the log is written: numbers packed as differences, which leaves little but the hashes, and nothing compressed,
#: because hashes cannot be.
WRITE_OPTIONS: Mapping[str, str] = {
    "compression": "none",
    "parquet.writer.version": "PARQUET_2_0",
    "parquet.enable.dictionary#offset": "false",
    "parquet.enable.dictionary#timestamp": "false",
    "parquet.enable.dictionary#hash": "false",
    "parquet.enable.dictionary#key": "false",
}


@dataclass(frozen=True, slots=True)
class Special:
    """Topics whose fingerprints are made in another way.

    :param compacted: the hash of the key is kept, too
    :param restamped: timestamps cannot be compared (:mod:`kafka_dr.audit.copies`), so the hash has none
    """

    compacted: Collection[str] = ()
    restamped: Collection[str] = ()


def fingerprints(records: DataFrame, special: Special | None = None) -> DataFrame:
    """Return one row for each record: ``topic, partition, offset, timestamp`` (ms), ``hash``, ``key`` and ``stamped``,
    whether the broker gave it its time; that takes no room where it is the same for all.

    :param records: as Spark's Kafka source reads them, headers included
    """
    special = special or Special()
    millis = f.unix_millis("timestamp")
    return records.select(
        "topic",
        "partition",
        "offset",
        millis.alias("timestamp"),
        f.xxhash64(
            f.col("key").isNull(),
            f.col("value").isNull(),
            "key",
            "value",
            _unless(special.restamped, millis),
            _headers(),
        ).alias("hash"),
        _where(special.compacted, _key()).alias("key"),
        (f.col("timestampType") == _LOG_APPEND_TIME).alias("stamped"),
    )


def _headers() -> Column:
    """Headers in their order, with null and empty distinguished; records without headers cost nothing."""
    flagged = f.transform("headers", lambda header: f.struct(header["key"], header["value"].isNull(), header["value"]))
    return f.when(f.col("headers").isNotNull(), f.xxhash64(f.size("headers"), flagged)).otherwise(f.lit(0))


def _key() -> Column:
    hashed = f.xxhash64("key").bitwiseAND(f.lit((1 << _KEY_BITS) - 1))
    return f.shiftleft(hashed, 1).bitwiseOR(f.col("value").isNull().cast("long"))


def _where(topics: Collection[str], column: Column) -> Column:
    if not topics:
        return f.lit(None).cast("long")
    return f.when(f.col("topic").isin(sorted(topics)), column)


def _unless(topics: Collection[str], column: Column) -> Column:
    if not topics:
        return column
    return f.when(~f.col("topic").isin(sorted(topics)), column)
