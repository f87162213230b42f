"""One view of all that several members took, for jobs of your own: DataFrames in, DataFrames out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_dr_spark.resolution import Strategy, last_records, last_write_wins

View = Literal["union", "local_first", "resolved"]
#: What the offset map of a flow says: originals from ``source`` on are the copies from ``target`` on, so many.
RUNS = "origin string, topic string, partition int, source bigint, target bigint, length bigint"
_OF_RECORD = ("origin", "partition", "offset", "original_offset", "time", "content")


def global_view(
    records: Mapping[str, DataFrame],
    *,
    view: View = "union",
    local: str = "",
    decide: Strategy = last_write_wins,
    runs: DataFrame | None = None,
) -> DataFrame:
    """Return the records of all members as one DataFrame, or one row for each key.

    ``union`` has ``origin, topic, partition, offset, original_offset, timestamp, key, value``, also of streams; records
    of one origin and partition are in the order of their offsets, and nothing orders those of different origins.
    ``local_first`` and ``resolved`` have ``topic, key, value, origin, records``: the value that counts, whose it is
    (null if it is no one's as it is), and the last record of each origin. Deletions are rows without a value.

    :param records: by member in the declared order, as Spark's Kafka source reads them: its own topics, or copies of
        them, which get the name of the original
    :param local: of ``local_first``: the member whose record counts wherever it has one; else the last write wins
    :param decide: of ``resolved``: see :func:`kafka_dr_spark.resolution.strategy`
    :param runs: where copies were read: see :data:`RUNS`. Copies in none of them have no ``original_offset``; without
        it the offset is that of what was read
    """
    frames = []
    for origin, each in records.items():
        name = f.regexp_replace("topic", f"^\\Q{origin}\\E\\.", "")
        rest = ("partition", "offset", "timestamp", "key", "value")
        frames.append(each.select(f.lit(origin).alias("origin"), name.alias("topic"), *rest))
    union = _with_originals(reduce(DataFrame.unionByName, frames), runs)
    if view == "union":
        return union
    members = list(records)
    number = f.array_position(f.array(*map(f.lit, members)), f.col("origin")) - 1
    keyed = union.where("key is not null").withColumns(
        {"origin": number.cast("int"), "time": f.unix_millis("timestamp"), "content": f.col("value")}
    )
    by_key = last_records(keyed.repartition("topic", "key"), ("topic", "key"), _OF_RECORD)
    counting = _local_first(members.index(local)) if view == "local_first" else decide
    named = f.array(*map(f.lit, members))
    return by_key.withColumn("counts", counting(f.col("records"))).select(
        "topic",
        "key",
        f.col("counts.content").alias("value"),
        f.get(named, "counts.winner").alias("origin"),
        f.transform("records", lambda one: one.withField("origin", f.get(named, one["origin"]))).alias("records"),
    )


def _local_first(local: int) -> Strategy:
    def decide(records: Column) -> Column:
        own = f.filter(records, lambda each: each["origin"] == local)
        return last_write_wins(f.when(f.size(own) > 0, own).otherwise(records))

    return decide


def _with_originals(records: DataFrame, runs: DataFrame | None) -> DataFrame:
    if runs is None:
        return records.withColumn("original_offset", f.col("offset"))
    within = [f.col(f"r.{each}") == f.col(f"m.{each}") for each in ("origin", "topic", "partition")]
    within.append(f.col("r.offset").between(f.col("m.target"), f.col("m.target") + f.col("m.length") - 1))
    found = records.alias("r").join(f.broadcast(runs.alias("m")), within, "left")
    return found.select("r.*", (f.col("m.source") + f.col("r.offset") - f.col("m.target")).alias("original_offset"))
