"""MirrorMaker's offset syncs, as they lie in their topic: which record has arrived where, and when that was noted.

An exactly-once flow writes a sync after the transaction that holds the record was committed on the target, and the
Connect worker stamps it. So the stamp is not before the record could be read there: measured with it, no record crossed
more slowly than is said, as far as the worker's clock and that of whoever stamped the record agree.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

_TOPIC_LENGTH = "cast(conv(hex(substring(key, 1, 2)), 16, 10) as int)"


def decode(records: DataFrame) -> DataFrame:
    """Decode offset syncs; tombstones and whatever else lies there is left out.

    :param records: of the topic of syncs, as Spark's Kafka source returns them
    :returns: ``topic, partition, source_offset, target_offset, synced_ms``; offsets are those *of* the record
    """
    whole = records.where("octet_length(value) = 16 and octet_length(key) > 6")
    sized = whole.withColumn("length", F.expr(_TOPIC_LENGTH)).where("octet_length(key) = length + 6")
    return sized.select(
        F.expr("decode(substring(key, 3, length), 'UTF-8')").alias("topic"),
        _number("key", "3 + length", 4).cast("int").alias("partition"),
        _number("value", "1", 8).cast("bigint").alias("source_offset"),
        _number("value", "9", 8).cast("bigint").alias("target_offset"),
        F.unix_millis("timestamp").alias("synced_ms"),
    )


def newest(syncs: DataFrame, *, since_ms: int, most: int, span: int) -> DataFrame:
    """Keep what tells about the records that crossed last.

    :param since_ms: leave out what was written down before
    :param most: how many of each partition to keep
    :param span: how many source offsets they may lie apart: that is what has to be read
    """
    fresh = syncs.where(F.col("synced_ms") >= since_ms)
    each = Window.partitionBy("topic", "partition")
    ranked = fresh.select(
        "*",
        F.row_number().over(each.orderBy(F.desc("source_offset"), "synced_ms")).alias("rank"),
        F.max("source_offset").over(each).alias("last"),
    )
    return ranked.where((F.col("rank") <= most) & (F.col("source_offset") > F.col("last") - span)).drop("rank", "last")


def _number(column: str, start: str, size: int) -> Column:
    """Read a big endian number that is not negative."""
    return F.expr(f"conv(hex(substring({column}, {start}, {size})), 16, 10)")
