"""MirrorMaker's offset syncs, as they are in their topic: which record has arrived at which offset, and when.

An exactly-once flow writes a sync after the transaction with the record was committed on the target, and the Connect
worker stamps it. So the timestamp is not before the record could be read on the target: no latency that is measured
with it is too small, as far as the clocks of the worker and of the producer agree.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

_TOPIC_LENGTH = "cast(conv(hex(substring(key, 1, 2)), 16, 10) as int)"


def decode(records: DataFrame) -> DataFrame:
    """Decode offset syncs; tombstones and other records are left out.

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
    """Keep the syncs of the records that were copied last.

    :param since_ms: leave out syncs from before
    :param most: how many of each partition to keep
    :param span: the greatest distance of their source offsets: this many offsets have to be read
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
