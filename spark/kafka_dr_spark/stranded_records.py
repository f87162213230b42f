"""Stranded records as they are kept: whole, with key, value and headers, and counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

#: ``topic, partition, first, after``: offsets ``first <= offset < after``.
StrandedRange = tuple[str, int, int, int]
#: What somebody had erased: the topic, and the digest of the key; ``None`` for any.
ErasedContent = tuple[str | None, str | None]


def whole(records: DataFrame) -> DataFrame:
    """Return records as the list keeps them; the timestamp in milliseconds since the epoch."""
    return records.select(
        "topic",
        "partition",
        "offset",
        f.unix_millis("timestamp").alias("timestamp"),
        "key",
        "value",
        "headers",
    )


def without_erased(records: DataFrame, *, left_by: str, erasures: Iterable[ErasedContent]) -> DataFrame:
    """Return records, those that were erased before without their content.

    :param left_by: the run that is a part of each digest of a key
    """
    salted = f.sha2(f.concat(f.lit(left_by.encode() + b"\0"), f.col("key")), 256)
    erased = f.lit(False)
    for topic, key in erasures:
        about = f.lit(True) if topic is None else f.col("topic") == topic
        erased = erased | (about if key is None else about & f.coalesce(salted == key, f.lit(False)))
    marked = records.withColumn("erased", erased)
    kept = {name: f.when(f.col("erased"), None).otherwise(f.col(name)) for name in ("key", "value", "headers")}
    return marked.withColumns({**kept, "timestamp": f.when(f.col("erased"), 0).otherwise(f.col("timestamp"))})


def within(session: SparkSession, records: DataFrame, stretches: Iterable[StrandedRange]) -> DataFrame:
    """Return the records that are in one of the ranges."""
    wanted = session.createDataFrame(
        list(stretches), "wanted_topic string, wanted_partition int, first long, after long"
    )
    lies_in = (
        (f.col("topic") == f.col("wanted_topic"))
        & (f.col("partition") == f.col("wanted_partition"))
        & (f.col("offset") >= f.col("first"))
        & (f.col("offset") < f.col("after"))
    )
    return records.join(f.broadcast(wanted), lies_in, "left_semi")


def measured(kept: DataFrame) -> DataFrame:
    """Return topic, partition, timestamp, key and size of records that are kept in the clear."""
    length = (
        "coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + coalesce(aggregate(headers, 0, "
        "(sum, header) -> sum + octet_length(header.key) + coalesce(octet_length(header.value), 0)), 0)"
    )
    return kept.select("topic", "partition", "timestamp", "key", f.expr(length).cast("long").alias("size"))


def keys_written(records: DataFrame, key: DataFrame | None) -> DataFrame:
    """Return the topic and key of each record that has one, each pair once.

    :param key: the content key, where keys of kept records are compared by a digest that is made with it
    """
    found = records.where("key is not null").select("topic", "key").distinct()
    if key is None:
        return found
    return found.crossJoin(f.broadcast(key)).select("topic", f.expr("sha2(concat(content_key, key), 256)").alias("key"))


def late(kept: DataFrame, *, written: DataFrame, kept_from_ms: Mapping[str, int]) -> DataFrame:
    """Return, by topic and partition, how many records have a key that was written since, and how many are too old.

    :param kept: with topic, partition, timestamp and key
    :param written: topic and key, each pair once
    :param kept_from_ms: by topic, the time of the oldest record that would be kept
    """
    first = f.create_map(*(f.lit(each) for pair in kept_from_ms.items() for each in pair)) if kept_from_ms else None
    oldest = f.lit(None) if first is None else first[f.col("topic")]
    # What was erased has no time, and is not judged by it.
    outdated = f.coalesce((f.col("timestamp") > 0) & (f.col("timestamp") < oldest), f.lit(False))
    return (
        kept.join(written.withColumn("again", f.lit(1)), ["topic", "key"], "left")
        .groupBy("topic", "partition")
        .agg(f.count("again").alias("written_since"), f.sum(outdated.cast("long")).alias("outdated"))
    )


def counted(kept: DataFrame) -> DataFrame:
    """Return, by topic and partition, how many records, keys and bytes are kept, and from when to when.

    :param kept: with topic, partition, timestamp, key and size
    """
    return kept.groupBy("topic", "partition").agg(
        f.count("*").alias("records"),
        f.countDistinct("key").alias("keys"),
        f.sum("size").cast("long").alias("size"),
        f.min("timestamp").alias("oldest_ms"),
        f.max("timestamp").alias("newest_ms"),
    )
