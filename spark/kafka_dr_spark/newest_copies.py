"""How far a copy is, by content alone: the newest record of the source that the target has."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

#: The schema of the frame that says where both logs were compared before: topic and partition.
ANCHORED = "topic string, partition int"


def newest_copies(source: DataFrame, target: DataFrame, anchored: DataFrame) -> DataFrame:
    """Return, by partition, the offset of the newest record of the source that has a copy among those of the target.

    Several records may have the same content. Where both ranges begin at records that correspond, the first copy is
    that of the first original, and so on. Elsewhere only the first record of each content counts: then the answer is
    never too new.

    :param source: fingerprints of the end of the source's log, ``topic, partition, offset, hash``
    :param target: fingerprints of the end of the target's log, under the names of the source
    :param anchored: partitions whose ranges begin at records that correspond; see :data:`ANCHORED`
    :returns: ``topic, partition, offset``; no row for a partition without a copy
    """
    first = f.col("number") == 1
    known = anchored.distinct().withColumn("known", f.lit(True))
    originals = _numbered(source).join(f.broadcast(known), ["topic", "partition"], "left").where(f.col("known") | first)
    copies = _numbered(target).select("topic", "partition", "hash", "number")
    found = originals.join(copies, ["topic", "partition", "hash", "number"], "left_semi")
    return found.groupBy("topic", "partition").agg(f.max("offset").alias("offset"))


def _numbered(records: DataFrame) -> DataFrame:
    """Number the records of each content, by their order."""
    each = Window.partitionBy("topic", "partition", "hash").orderBy("offset")
    return records.select("topic", "partition", "offset", "hash", f.row_number().over(each).alias("number"))
