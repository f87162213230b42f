"""Fingerprints are equal for equal records and for no others, and small; frames like those of Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]

KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def frame(spark: SparkSession, rows: Iterable[tuple[Any, ...]], *, topic: str = "t", millis: int = 1_000) -> DataFrame:
    """Rows of key, value and headers, each at an offset of its own."""
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    found = [(key, value, topic, 0, n, moment, 0, headers) for n, (key, value, headers) in enumerate(rows)]
    return spark.createDataFrame(found, KAFKA)


def hashes(spark: SparkSession, rows: Iterable[tuple[Any, ...]], **how: Any) -> list[int]:
    from kafka_dr_spark.fingerprints import fingerprints

    special = how.pop("special", None)
    return [row.hash for row in fingerprints(frame(spark, rows, **how), special).orderBy("offset").collect()]


def test_no_two_records_that_differ_in_anything_look_alike(spark: SparkSession) -> None:
    rows: list[tuple[Any, ...]] = [
        (None, None, None),
        (None, b"", None),
        (b"", None, None),
        (b"", b"", None),
        (b"ab", b"c", None),
        (b"a", b"bc", None),
        (b"a", None, None),
        (None, b"a", None),
        (b"k", b"v", [("h", None)]),
        (b"k", b"v", [("h", b"")]),
        (b"k", b"v", [("h", b"1"), ("h", b"2")]),
        (b"k", b"v", [("h", b"2"), ("h", b"1")]),
        (b"k", b"v", [("h", b"1")]),
        (b"k", b"v", [("h", b"1"), ("h", b"1")]),
        (b"k", b"v", [("a", None), ("b", b"x")]),
        (b"k", b"v", [("a", b"b"), ("x", None)]),
        (b"k", b"v", [("a", b"bx")]),
        (b"k", b"v", [("ab", b"x")]),
    ]
    assert len(set(hashes(spark, rows))) == len(rows)
    assert hashes(spark, rows) == hashes(spark, rows)


def test_time_is_part_of_it_unless_the_target_stamps_records_itself(spark: SparkSession) -> None:
    from kafka_dr_spark.fingerprints import Special

    rows = [(b"k", b"v", None)]
    assert hashes(spark, rows) != hashes(spark, rows, millis=1_001)
    special = Special(restamped={"t"})
    assert hashes(spark, rows, special=special) == hashes(spark, rows, millis=1_001, special=special)
    other = {"topic": "u", "special": special}
    assert hashes(spark, rows, **other) != hashes(spark, rows, millis=1_001, **other)


def test_frontier_and_audit_call_the_same_records_copies(spark: SparkSession) -> None:
    """Each pair of random records, stamped or not by either broker, with or without a time: both rules agree."""
    from kafka_dr.audit.copies import Entry, is_copy, times_count
    from kafka_dr_spark.fingerprints import Special, fingerprints

    random = Random(6)  # noqa: S311 - the same records each time
    texts: list[bytes | None] = [None, b"", b"a", b"ab"]
    headers: list[list[tuple[str, bytes | None]]] = [[], [("h", None)], [("h", b"")], [("h", b"a"), ("h", b"a")]]

    def record(stamped: bool, times: Sequence[int] = range(3)) -> tuple[Any, ...]:
        return random.choice(texts), random.choice(texts), random.choice(headers), random.choice(times), stamped

    for source_stamps, target_stamps, source_lacks in product((False, True), repeat=3):
        times = [-1] if source_lacks else range(3)
        sides = [[record(source_stamps, times) for _ in range(300)], [record(target_stamps) for _ in range(300)]]
        copied = [(*each[:3], random.randrange(3) if source_lacks else each[3]) for each in sides[0][:100]]
        sides[1][:100] = [(*each, target_stamps) for each in copied]
        compared = times_count(
            source_stamps=source_stamps, target_stamps=target_stamps, turned=False, source_lacks=source_lacks
        )
        special = Special(restamped=() if compared else {"t"})
        hashed, entries = [], []
        for side in sides:
            rows = [
                (key, value, "t", 0, n, datetime.fromtimestamp(time / 1000, UTC), int(stamped), names or None)
                for n, (key, value, names, time, stamped) in enumerate(side)
            ]
            found = fingerprints(spark.createDataFrame(rows, KAFKA), special).orderBy("offset").collect()
            assert {row.stamped for row in found} == {side[0][4]}
            hashed.append([row.hash for row in found])
            entries.append(
                [
                    Entry.of(n, timestamp_ms=time, stamped=stamped, key=key, value=value, headers=names)
                    for n, (key, value, names, time, stamped) in enumerate(side)
                ]
            )
        pairs = list(product(range(300), repeat=2))
        ours = [is_copy(entries[0][s], entries[1][t]) for s, t in pairs]
        assert ours == [hashed[0][s] == hashed[1][t] for s, t in pairs]
        assert 100 <= sum(ours) < len(ours)


def test_the_key_is_kept_on_compacted_topics_alone_and_says_whether_the_record_deletes_it(spark: SparkSession) -> None:
    from kafka_dr_spark.fingerprints import Special, fingerprints

    rows = [(b"k", b"v", None), (b"k", None, None), (b"l", b"v", None)]
    special = Special(compacted={"t"})
    keys = [row.key for row in fingerprints(frame(spark, rows), special).orderBy("offset").collect()]
    assert keys[0] + 1 == keys[1]
    assert [key & 1 for key in keys] == [0, 1, 0]
    assert keys[2] != keys[0]
    assert {row.key for row in fingerprints(frame(spark, rows, topic="u"), special).collect()} == {None}


@pytest.mark.parametrize("compacted", [False, True])
def test_a_fingerprint_takes_at_most_sixteen_bytes(spark: SparkSession, tmp_path: Path, compacted: bool) -> None:
    from kafka_dr_spark.fingerprints import WRITE_OPTIONS, Special, fingerprints

    count = 200_000
    records = spark.range(0, count, 1, 1).selectExpr(
        "cast(cast(cast(rand(1) * 1e9 as long) as string) as binary) as key",
        "cast(cast(id as string) as binary) as value",
        "'orders.payments' as topic",
        "3 as partition",
        "id + (id div 7) as offset",
        "timestamp_millis(1700000000000 + id * 3 + cast(rand(2) * 50 as long)) as timestamp",
        "cast(null as array<struct<key: string, value: binary>>) as headers",
        "0 as timestampType",
    )
    special = Special(compacted={"orders.payments"} if compacted else ())
    fingerprints(records, special).write.options(**WRITE_OPTIONS).parquet(str(tmp_path / "log"))
    size = sum(file.stat().st_size for file in (tmp_path / "log").glob("*.parquet"))
    assert size / count <= 16


def test_a_log_is_read_back_by_partition_and_in_order(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.fingerprint_log import FingerprintLog
    from kafka_dr.clusters import TopicPartition
    from kafka_dr_spark.fingerprints import WRITE_OPTIONS, fingerprints

    folder = tmp_path / "one" / "source"
    one = frame(spark, [(b"k", bytes([n]), None) for n in range(9)])
    other = frame(spark, [(b"k", bytes([n]), None) for n in range(4)], topic="u")
    for records, files in ((one, 3), (other, 1)):
        writer = fingerprints(records).repartition(files).write.mode("append").options(**WRITE_OPTIONS)
        writer.parquet(str(folder))
    log = FingerprintLog(spark, f"file://{tmp_path}")
    assert (log.exists("one", "source"), log.exists("one", "target")) == (True, False)
    found = log.read("source", ["one"], ["t"])
    assert list(found) == [TopicPartition("t", 0)]
    assert found[TopicPartition("t", 0)].offsets.tolist() == list(range(9))
    assert found[TopicPartition("t", 0)].hashes.tolist() == hashes(spark, [(b"k", bytes([n]), None) for n in range(9)])
    wanted = np.sort(np.append(found[TopicPartition("t", 0)].hashes[5], 1))
    held = log.holding(["one"], "t", wanted)
    assert dict(zip(wanted.tolist(), zip(held.partitions, held.offsets, strict=True), strict=True)) == {
        int(found[TopicPartition("t", 0)].hashes[5]): (0, 5),
        1: (-1, -1),
    }
    log.remove("one")
    assert not folder.exists()


def test_a_log_that_is_too_long_for_memory_is_read_the_same(spark: SparkSession, tmp_path: Path) -> None:
    from copy_audit.fingerprints import Fingerprints
    from jobs.fingerprint_log import FingerprintLog
    from jobs.log_files import collected, spooled
    from kafka_dr.clusters import TopicPartition
    from kafka_dr_spark.fingerprints import WRITE_OPTIONS, fingerprints

    records = frame(spark, [(b"k", bytes([n]), None) for n in range(90)])
    parts = [records.where(f"offset >= {start} and offset < {start + 30}").coalesce(1) for start in (60, 0, 30)]
    for number, part in enumerate(parts):
        writer = fingerprints(part).write.mode("append").options(**WRITE_OPTIONS)
        writer.parquet(str(tmp_path / f"{number}" / "source"))
    folders = [str(tmp_path / str(number) / "source") for number in range(3)]
    known = FingerprintLog(spark, f"file://{tmp_path}").read("source", ["0", "1", "2"], ["t"])[TopicPartition("t", 0)]
    found = spooled(list(tmp_path.rglob("*.parquet")))[TopicPartition("t", 0)]
    # Where only Spark reaches, one stretch after the other; and where parts of a log are joined.
    far = collected(spark.read.parquet(*folders), most_in_memory=80, at_once=35)[TopicPartition("t", 0)]
    joined = Fingerprints.joined([known.since(20), known.below(20)], most_in_memory=80)
    for each in (found, far, joined):
        assert isinstance(each.hashes, np.memmap)
        assert (each.offsets.tolist(), each.hashes.tolist()) == (known.offsets.tolist(), known.hashes.tolist())
        assert each.keys is None
    assert isinstance(Fingerprints.joined([found.since(90), found.since(3)]).hashes, np.memmap), (
        "one part stays where it is"
    )
    assert collected(spark.read.parquet(*folders))[TopicPartition("t", 0)].hashes.tolist() == known.hashes.tolist()
