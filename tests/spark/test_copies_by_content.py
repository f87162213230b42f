"""Copies under other names, and how far a copy is: frames like those of Spark's Kafka source, no Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import Record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]

KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def kafka(spark: SparkSession, topics: Iterable[str]) -> DataFrame:
    moment = datetime.fromtimestamp(1, UTC)
    return spark.createDataFrame(
        [(b"k", b"v%d" % n, topic, 0, n, moment, 0, None) for n, topic in enumerate(topics)], KAFKA
    )


def test_copies_get_the_names_of_their_originals_and_other_topics_keep_theirs(spark: SparkSession) -> None:
    from kafka_dr_spark.fingerprints import fingerprints
    from kafka_dr_spark.renamed_topics import renamed

    names = {"orders": "east.orders", "ORDERS_V2": "orders"}
    found = renamed(kafka(spark, ["east.orders", "orders", "invoices"]), names)
    assert sorted((row.topic, row.offset) for row in found.collect()) == [
        ("ORDERS_V2", 1),
        ("invoices", 2),
        ("orders", 0),
    ]
    # What a topic is called is no part of what is compared.
    assert {row.offset: row.hash for row in fingerprints(found).collect()} == {
        row.offset: row.hash for row in fingerprints(kafka(spark, ["a", "b", "c"])).collect()
    }


def test_records_in_memory_are_what_kafka_would_have_returned(spark: SparkSession) -> None:
    from jobs.records_in_memory import in_memory
    from kafka_dr_spark.fingerprints import fingerprints

    made = [
        Record("t", 0, 0, 1_000, None, b""),
        Record("t", 0, 1, 1_001, b"", None, (("h", None), ("h", b"1"))),
        Record("t", 1, 0, 1_002, b"k", b"v", (), stamped=True),
    ]
    moments = [datetime.fromtimestamp(each.timestamp_ms / 1000, UTC) for each in made]
    rows = [
        (r.key, r.value, r.topic, r.partition, r.offset, at, int(r.stamped), list(r.headers) or None)
        for r, at in zip(made, moments, strict=True)
    ]
    both = [in_memory(spark, made), spark.createDataFrame(rows, KAFKA)]
    assert both[0].dtypes == both[1].dtypes
    found, expected = (sorted(fingerprints(each).collect()) for each in both)
    assert found == expected


#: What both clusters hold of a partition, whether both begin with the same record, and the newest copy.
CASES: list[tuple[list[int], list[int], bool, int | None]] = [
    # The copy ends at 13; what a restart repeats takes nothing back.
    ([10, 11, 12, 13, 14], [10, 11, 12, 13, 11, 12], True, 3),
    ([10, 11, 12, 13, 14], [10, 11, 12, 13, 11, 12], False, 3),
    # The newest copy is strange, or its original is not among what was read.
    ([10, 11, 12], [10, 11, 99], True, 1),
    ([10, 11, 12], [97, 98, 99], True, None),
    # Equal records: counted from a common beginning, the third copy is of the third one.
    ([7, 7, 7, 7], [7, 7, 7], True, 2),
    ([7, 7, 7, 7], [7, 7, 7], False, 0),
]


def test_how_far_a_copy_is_is_never_overstated(spark: SparkSession) -> None:
    from kafka_dr_spark.newest_copies import ANCHORED, newest_copies

    source = [("t", n, 50 + at, each) for n, case in enumerate(CASES) for at, each in enumerate(case[0])]
    target = [("t", n, 900 + at, each) for n, case in enumerate(CASES) for at, each in enumerate(case[1])]
    schema = "topic string, partition int, offset bigint, hash bigint"
    anchored = [("t", n) for n, case in enumerate(CASES) if case[2]]
    found = newest_copies(
        spark.createDataFrame(source, schema),
        spark.createDataFrame(target, schema),
        spark.createDataFrame(anchored, ANCHORED),
    ).collect()
    assert {row.partition: row.offset - 50 for row in found} == {
        n: case[3] for n, case in enumerate(CASES) if case[3] is not None
    }
