"""The content of ranges of a log, and the timestamps of some of its records, in one pass over the records."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

#: The schemas of the two small frames of :func:`measure`.
STRETCHES = "topic string, partition int, start bigint, read_end bigint"
POINTS = "topic string, partition int, offset bigint"


def measure(records: DataFrame, stretches: DataFrame, points: DataFrame) -> DataFrame:
    """Count the records of each range, and look up the timestamps of single records.

    :param records: as Spark's Kafka source returns them, with headers
    :param stretches: offsets ``start <= offset < read_end`` of partitions, none twice; see :data:`STRETCHES`
    :param points: offsets of records whose timestamps are wanted; see :data:`POINTS`
    :returns: ``topic, partition, start, records, size, first_timestamp_ms, points``: a row for each range that
        holds records, and one with ``start`` null for the other records; ``size`` counts the bytes of keys, values
        and headers, ``points`` is an array of ``(offset, timestamp_ms)``
    """
    small = records.select(
        "topic", "partition", "offset", F.unix_millis("timestamp").alias("timestamp_ms"), _size().alias("size")
    )
    inside = (
        (F.col("r.topic") == F.col("s.topic"))
        & (F.col("r.partition") == F.col("s.partition"))
        & (F.col("r.offset") >= F.col("s.start"))
        & (F.col("r.offset") < F.col("s.read_end"))
    )
    placed = (
        small.alias("r")
        .join(F.broadcast(stretches).alias("s"), inside, "left")
        .select("r.*", "s.start")
        .join(F.broadcast(points.withColumn("wanted", F.lit(True))), ["topic", "partition", "offset"], "left")
    )
    return placed.groupBy("topic", "partition", "start").agg(
        F.count("*").alias("records"),
        F.sum("size").alias("size"),
        F.min_by("timestamp_ms", "offset").alias("first_timestamp_ms"),
        F.collect_list(F.when(F.col("wanted"), F.struct("offset", "timestamp_ms"))).alias("points"),
    )


def _size() -> Column:
    return F.expr(
        "coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + coalesce(aggregate(headers, 0, "
        "(sum, header) -> sum + octet_length(header.key) + coalesce(octet_length(header.value), 0)), 0)"
    ).cast("bigint")
