"""Records of stories as data frames: as Spark's Kafka source returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.key_fights import Fought

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "baskets"


def as_read(spark: SparkSession, records: list[Fought]) -> DataFrame:
    """Return records with the columns in which Spark's Kafka source returns them."""
    from jobs.records_in_memory import in_memory
    from kafka_dr.clusters import Record

    return in_memory(
        spark,
        [
            Record(topic=TOPIC, partition=r.partition, offset=r.offset, key=r.key, value=r.value, headers=r.headers,
                   timestamp_ms=r.time_ms)
            for r in records
        ],
    )  # fmt: skip
