"""One view of all members' records: united as they are, local first, or resolved, and of copies by original offset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import resolved
from support.fought_frames import TOPIC, as_read
from support.key_fights import SITES, Fought, KeyFights, fights
from support.resolved import Counting, LastRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]


def of_members(spark: SparkSession, world: KeyFights) -> dict[str, DataFrame]:
    """Return what a member reads: its own topics, and copies of the others'."""
    from pyspark.sql import functions as f

    own = {name: as_read(spark, [each for each in world.records if each.origin == n]) for n, name in enumerate(SITES)}
    copies = {name: f.lit(f"{name}.{TOPIC}" if name != "east" else TOPIC) for name in SITES}
    return {name: own[name].withColumn("topic", copies[name]) for name in SITES}


def rows_of(found: DataFrame) -> list[tuple[Any, ...]]:
    names = ("origin", "topic", "partition", "offset", "original_offset", "key", "value")
    return sorted((tuple(row[name] for name in names) for row in found.collect()), key=str)


def expected_rows(world: KeyFights) -> list[tuple[Any, ...]]:
    rows = [(SITES[e.origin], TOPIC, e.partition, e.offset, e.offset, e.key, e.value) for e in world.records]
    return sorted(rows, key=str)


def last_by_key(world: KeyFights) -> dict[bytes, list[LastRecord]]:
    in_log: dict[tuple[bytes, int, int], Fought] = {}
    for each in sorted(world.records, key=lambda each: each.offset):
        if each.key is not None:
            in_log[each.key, each.origin, each.partition] = each
    last: dict[tuple[bytes, int], Fought] = {}
    for (key, origin, _), each in in_log.items():
        one = last.setdefault((key, origin), each)
        if (each.time_ms, each.partition) > (one.time_ms, one.partition):
            last[key, origin] = each
    found: dict[bytes, list[LastRecord]] = {}
    for (key, origin), each in last.items():
        found.setdefault(key, []).append(LastRecord(origin, each.time_ms, each.value))
    return found


def west_first(records: list[LastRecord]) -> Counting:
    return resolved.last_write_wins([each for each in records if each.origin == 1] or records)


def test_a_view_has_all_records_or_what_counts_of_each_key(spark: SparkSession) -> None:
    from kafka_dr_spark import global_view
    from kafka_dr_spark.resolution import strategy

    world = fights(31, sites=3, stories=480, noise=300)
    frames, last = of_members(spark, world), last_by_key(world)
    assert rows_of(global_view(frames)) == expected_rows(world)
    asked: dict[str, tuple[DataFrame, Any]] = {
        "resolved": (global_view(frames, view="resolved"), resolved.last_write_wins),
        "by priority": (
            global_view(frames, view="resolved", decide=strategy("source_priority", SITES, priority=["north"])),
            resolved.source_priority([2, 0, 1]),
        ),
        "local first": (global_view(frames, view="local_first", local="west"), west_first),
    }
    for name, (found, plain) in asked.items():
        rows = {bytes(row["key"]): row for row in found.collect()}
        counting = {key: plain(records) for key, records in last.items()}
        assert {key: (row["origin"], row["value"]) for key, row in rows.items()} == (
            {key: (SITES[each.winner or 0], each.content) for key, each in counting.items()}
        ), name
        assert {row["topic"] for row in rows.values()} == {TOPIC}
        assert {key: {SITES.index(each["origin"]) for each in row["records"]} for key, row in rows.items()} == (
            {key: {each.origin for each in records} for key, records in last.items()}
        )


def test_copies_have_the_offsets_of_their_originals_as_far_as_these_are_known(spark: SparkSession) -> None:
    from kafka_dr_spark import global_view
    from kafka_dr_spark.one_view import RUNS

    copied = [Fought(1, p, 1, b"k", b"v", offset) for p, offset in ((0, 9), (0, 10), (0, 12), (0, 13), (1, 10))]
    frames = {"west": as_read(spark, copied)}
    runs = spark.createDataFrame([("west", TOPIC, 0, 100, 10, 3), ("east", TOPIC, 1, 7, 10, 9)], RUNS)
    found = global_view(frames, runs=runs).orderBy("partition", "offset").collect()
    assert [row["original_offset"] for row in found] == [None, 100, 102, None, None]


def test_streams_are_united_as_well(spark: SparkSession, tmp_path: Path) -> None:
    from kafka_dr_spark import global_view

    world = fights(32, sites=3, stories=24)
    streams = {}
    for name, frame in of_members(spark, world).items():
        frame.write.parquet(f"file://{tmp_path}/{name}")
        streams[name] = spark.readStream.schema(frame.schema).parquet(f"file://{tmp_path}/{name}")
    united = global_view(streams)
    assert united.isStreaming
    query = united.writeStream.format("memory").queryName("united").trigger(availableNow=True).start()
    query.awaitTermination()
    assert rows_of(spark.table("united")) == expected_rows(world)
