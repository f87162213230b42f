"""What a lag audit makes of records: sizes, first timestamps, offset syncs. No Kafka: frames of rows like its own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from struct import pack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]

#: What Spark's Kafka source returns.
KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def frame(spark: SparkSession, rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """Rows of topic, partition, offset, milliseconds, key, value and headers."""
    found = [
        (key, value, topic, partition, offset, datetime.fromtimestamp(ms / 1000, UTC), 0, headers)
        for topic, partition, offset, ms, key, value, headers in rows
    ]
    return spark.createDataFrame(found, KAFKA)


def measured(
    spark: SparkSession, rows: Iterable[tuple[Any, ...]], stretches: list[Any], points: list[Any]
) -> dict[tuple[str, int, int | None], tuple[int, int, int, list[tuple[int, int]]]]:
    from kafka_dr_spark.stretches import POINTS, STRETCHES, measure

    found = measure(
        frame(spark, rows), spark.createDataFrame(stretches, STRETCHES), spark.createDataFrame(points, POINTS)
    ).collect()
    return {
        (row.topic, row.partition, row.start): (
            row.records,
            row.size,
            row.first_timestamp_ms,
            sorted((point.offset, point.timestamp_ms) for point in row.points),
        )
        for row in found
    }


def test_each_range_is_counted_by_itself_and_points_are_looked_up_at_any_offset(spark: SparkSession) -> None:
    rows = [
        ("a", 0, 3, 9_000, b"k", b"four", []),
        ("a", 0, 5, 1_500, None, b"", None),
        ("a", 0, 7, 1_200, b"", None, [("h", b"xyz"), ("h", None)]),
        ("a", 0, 9, 2_000, b"key", b"val", [("é", b"")]),
        ("b", 0, 5, 7_000, None, b"x", None),
    ]
    found = measured(spark, rows, [("a", 0, 5, 9), ("a", 0, 9, 12)], [("a", 0, 3), ("a", 0, 7), ("a", 0, 8)])
    assert found == {
        ("a", 0, None): (1, 5, 9_000, [(3, 9_000)]),
        ("a", 0, 5): (2, 5, 1_500, [(7, 1_200)]),
        ("a", 0, 9): (1, 8, 2_000, []),
        ("b", 0, None): (1, 1, 7_000, []),
    }


def sync(topic: str, partition: int, source: int, target: int, ms: int) -> tuple[Any, ...]:
    name = topic.encode()
    key = pack(">h", len(name)) + name + pack(">i", partition)
    return ("mm2-offset-syncs.east.internal", 0, 0, ms, key, pack(">qq", source, target), None)


def test_offset_syncs_are_decoded_and_what_is_none_is_passed_over(spark: SparkSession) -> None:
    from kafka_dr_spark.offset_syncs import decode

    whole = sync("orders.größe", 258, 2**40 + 7, 2**33, 1_700_000_000_123)
    strange = [(*whole[:5], value, None) for value in (None, b"", b"short")]
    strange += [(*whole[:4], key, whole[5], None) for key in (None, b"", b"\x00\x09abc\x00\x00\x00\x01")]
    (row,) = decode(frame(spark, [whole, *strange])).collect()
    assert tuple(row) == ("orders.größe", 258, 2**40 + 7, 2**33, 1_700_000_000_123)


def test_only_the_newest_syncs_of_each_partition_count(spark: SparkSession) -> None:
    from kafka_dr_spark.offset_syncs import decode, newest

    rows = [sync("a", 0, offset, offset, 1_000 + offset) for offset in (10, 400, 500, 600, 650)]
    rows += [sync("a", 1, 5, 5, 900), sync("a", 2, 5, 5, 1_000), sync("a", 2, 5, 5, 2_000)]
    found = newest(decode(frame(spark, rows)), since_ms=1_000, most=3, span=250).collect()
    assert sorted((row.partition, row.source_offset, row.synced_ms) for row in found) == [
        *((0, 500, 1_500), (0, 600, 1_600), (0, 650, 1_650)),
        *((2, 5, 1_000), (2, 5, 2_000)),
    ]
    near = newest(decode(frame(spark, rows)), since_ms=1_000, most=9, span=150).collect()
    assert sorted(row.source_offset for row in near if row.partition == 0) == [600, 650]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], []),
        ([(5, 9), (1, 3)], [(1, 3), (5, 9)]),
        ([(1, 5), (5, 9)], [(1, 9)]),
        ([(1, 8), (2, 4), (7, 9)], [(1, 9)]),
    ],
)
def test_ranges_that_meet_are_read_as_one(ranges: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    from jobs.lag.reading import joined

    assert joined(ranges) == expected
