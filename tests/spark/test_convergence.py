"""Members are found to agree on each key or not, as plain Python finds it, and what is gone is never equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import resolved
from support.converged import HeldRecord, HeldWorld, LossyLog, held_worlds, judged, shuffled
from support.fought_frames import TOPIC
from support.resolved import PlainStrategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]

HELD = "member int, origin int, topic string, partition int, offset bigint, time bigint, raw_key string, raw binary"


def held(spark: SparkSession, records: Sequence[HeldRecord]) -> DataFrame:
    """Return records with the columns that the audit keeps of them."""
    from pyspark.sql import functions as f

    rows = [(r.member, r.origin, TOPIC, r.partition, r.offset, r.time, r.key, r.value) for r in records]
    return spark.createDataFrame(rows, HELD).select(
        *("member", "origin", "topic", "partition", "offset", "time"),
        f.sha2("raw_key", 256).alias("key_id"),
        f.col("raw_key").cast("binary").alias("key"),
        f.when(f.col("raw").isNotNull(), f.xxhash64("raw")).alias("value"),
        f.col("raw").alias("content"),
    )


def found_states(spark: SparkSession, world: HeldWorld, name: str = "last_write_wins") -> DataFrame:
    from kafka_dr_spark import convergence
    from kafka_dr_spark.resolution import strategy

    members = [str(n) for n in range(world.members)]
    losses = spark.createDataFrame(
        [(*log[:2], TOPIC, log.partition) for log in sorted(world.lossy)], convergence.LOSSES
    )
    return convergence.states(held(spark, world.held), losses, members=world.members, strategy=strategy(name, members))


def verdicts(found: DataFrame) -> dict[str, str]:
    return {bytes(row["key"]).decode(): row["verdict"] for row in found.select("key", "verdict").collect()}


@pytest.mark.parametrize("members", [2, 3])
def test_each_planted_difference_is_found_and_what_is_gone_is_unknown(spark: SparkSession, members: int) -> None:
    from kafka_dr_spark import convergence

    world = held_worlds(21, members=members, keys=420)
    assert judged(world, resolved.last_write_wins) == world.expected
    found = found_states(spark, shuffled(world, 1)).localCheckpoint()
    assert verdicts(found) == world.expected
    differ = sorted(key for key, verdict in world.expected.items() if verdict == "differs")
    shown = convergence.differing(found, most=10).collect()
    assert [row["key"] for row in shown] == differ[:10]
    for row in shown:
        for on in row["by_member"]:
            last = {(each["origin"], each["partition"], each["offset"], each["time"]) for each in on["last"]}
            own = [e for e in world.held if (e.key, e.member) == (row["key"], on["member"])]
            assert last <= {(e.origin, e.partition, e.offset, e.time) for e in own}
            assert on["winner"] in {e.origin for e in own}
    ranges = convergence.by_range(found, members=members).collect()
    assert (sum(r["keys"] for r in ranges), sum(r["differs"] for r in ranges)) == (420, len(differ))
    assert sum(r["unknown"] for r in ranges) == sum(verdict == "unknown" for verdict in world.expected.values())
    for row in ranges:
        assert (len(set(row["hashes"])) == 1) == (row["differs"] + row["unknown"] == 0)


RECORDS = st.builds(
    HeldRecord,
    member=st.integers(0, 1),
    origin=st.integers(0, 1),
    partition=st.integers(0, 1),
    offset=st.integers(0, 30),
    time=st.integers(0, 3),
    key=st.sampled_from([f"k{n}" for n in range(30)]),
    value=st.none() | st.sampled_from([b"1", b'{"a": 1}', b'{"b": 1}', b'{"a": 2}']),
)
LOGS = st.builds(LossyLog, st.integers(0, 1), st.integers(0, 1), st.integers(0, 1))
PLAIN: dict[str, PlainStrategy] = {
    "last_write_wins": resolved.last_write_wins,
    "source_priority": resolved.source_priority([0, 1]),
    "merge": resolved.merge,
    "keep_both": resolved.keep_both,
}


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(
    records=st.lists(
        RECORDS, min_size=40, max_size=120, unique_by=lambda e: (e.member, e.origin, e.partition, e.offset)
    ),
    lossy=st.sets(LOGS, max_size=3),
)
def test_whatever_members_hold_spark_says_of_it_what_plain_python_says(
    spark: SparkSession, records: list[HeldRecord], lossy: set[LossyLog]
) -> None:
    world = HeldWorld(2, records, lossy)
    for name, plain in PLAIN.items():
        assert verdicts(found_states(spark, world, name)) == judged(world, plain), name


def test_records_without_a_key_have_no_state(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    from kafka_dr_spark import convergence
    from kafka_dr_spark.resolution import last_write_wins

    rows = held(spark, [HeldRecord(0, 0, 0, 0, 1, "k", b"1")])
    without = rows.withColumn("key_id", f.lit(None).cast("string"))
    nothing = spark.createDataFrame([], convergence.LOSSES)
    assert convergence.states(rows, nothing, members=1, strategy=last_write_wins).count() == 1
    assert convergence.states(without, nothing, members=1, strategy=last_write_wins).count() == 0
