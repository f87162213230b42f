"""Conflicts are found by Spark as the rules find them: every planted one, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.fought_frames import TOPIC, as_read
from support.key_fights import SITES, SKEW, START_MS, Fought, KeyFights, fights

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]


def site_records(spark: SparkSession, world: KeyFights, *, plain: bool = True) -> DataFrame:
    from kafka_dr_spark import conflicts

    made = None
    for origin in range(world.sites):
        own = as_read(spark, [each for each in world.records if each.origin == origin])
        found = conflicts.site_records(own, origin=origin, salt=b"shop\0", plain=plain)
        made = found if made is None else made.unionAll(found)
    assert made is not None
    return made


def arrivals(spark: SparkSession, world: KeyFights) -> DataFrame:
    from kafka_dr_spark.conflicts import ARRIVALS

    rows = [
        (origin, TOPIC, partition, s.first, s.after, list(s.not_before), list(s.read_by))
        for (origin, partition), known in world.stretches().items()
        for s in known
    ]
    return spark.createDataFrame(rows, ARRIVALS)


def found_by_spark(spark: SparkSession, world: KeyFights, records: DataFrame) -> list[dict[str, Any]]:
    from kafka_dr_spark import conflicts

    met = conflicts.meetings(records, arrivals(spark, world), sites=world.sites)
    kept = conflicts.findings(conflicts.judged(met, skew_ms=SKEW), sites=SITES)
    return [row.asDict() for row in kept.collect()]


def at(row: dict[str, Any], which: str) -> tuple[int, int, int]:
    return SITES.index(row[f"{which}_origin"]), row[f"{which}_partition"], row[f"{which}_offset"]


def pairs_of(rows: list[dict[str, Any]]) -> list[tuple[tuple[int, int, int], tuple[int, int, int], str]]:
    conflicts = (row for row in rows if row["kind"] != "partition_differs")
    return sorted((at(row, "earlier"), at(row, "later"), row["certainty"]) for row in conflicts)


@pytest.mark.parametrize(
    ("sites", "stories", "noise"),
    [
        (2, 6000, 32_000),
        (3, 6000, 32_000),
    ],
)
def test_of_all_records_each_planted_conflict_is_found_and_nothing_else(
    spark: SparkSession, sites: int, stories: int, noise: int
) -> None:
    world = fights(4, sites=sites, stories=stories, noise=noise)
    assert len(world.records) > stories + noise
    assert world.within_skew > 0.3
    rows = found_by_spark(spark, world, site_records(spark, world))
    assert pairs_of(rows) == sorted(world.expected)
    differs = [row for row in rows if row["kind"] == "partition_differs"]
    assert {(row["key"].encode(), frozenset((at(row, "earlier")[0], at(row, "later")[0]))) for row in differs} == (
        world.differs
    )
    assert len(differs) == len(world.differs)
    values = {each.at: each for each in world.records}
    for row in rows:
        one, other = values[at(row, "earlier")], values[at(row, "later")]
        assert row["equal"] == (one.value == other.value)
        assert (row["earlier_deletes"], row["later_deletes"]) == (one.value is None, other.value is None)
        if row["kind"] != "partition_differs":
            assert row["kind"] == ("delete_write" if (one.value is None) != (other.value is None) else "write_write")
        assert row["margin_ms"] == other.time_ms - one.time_ms
        assert row["within_skew"] == (row["margin_ms"] <= SKEW)
        assert row["winner"] == SITES[other.origin if row["margin_ms"] else one.origin]


@pytest.mark.parametrize("cut", [START_MS + 60_000 * 9 + 20_000, START_MS + 60_000 * 20 + 59_990])
def test_a_conflict_over_the_border_of_two_audits_is_found_once(spark: SparkSession, cut: int) -> None:
    """What the first audit read is gone; only what it has kept meets the records that came since."""
    from pyspark.sql import functions as f

    from kafka_dr_spark import conflicts

    world = fights(5, sites=3, stories=900, noise=500)
    whole = site_records(spark, world).persist()
    # Each log was read up to another moment: what the kept records are for.
    reached = f.lit(cut) + f.col("origin") * 3_000
    first, then = whole.where(f.col("time") < reached), whole.where(f.col("time") >= reached)
    before = found_by_spark(spark, world, first)
    kept = conflicts.to_meet(first, horizon=cut - 1_000).localCheckpoint()
    assert kept.count() < first.count()
    after = found_by_spark(spark, world, kept.unionByName(then))
    assert sorted(pairs_of(before) + pairs_of(after)) == sorted(world.expected)
    again = conflicts.to_meet(kept.unionByName(then), horizon=cut + 600_000)
    assert found_by_spark(spark, world, again) == []


def test_keys_are_kept_as_digests_unless_they_may_be_plain(spark: SparkSession) -> None:
    from kafka_dr_spark import conflicts
    from kafka_dr_spark.encrypted_records import key_relation

    world = fights(6, sites=2, stories=24)
    own = as_read(spark, [each for each in world.records if each.origin == 0])
    forms = {}
    made: dict[str, dict[str, Any]] = {
        "hashed": {},
        "other block": {"salt": b"other\0"},
        "with a key": {"content_key": key_relation(spark, b"k" * 32)},
        "plain": {"plain": True},
    }
    for name, options in made.items():
        found = conflicts.site_records(own, origin=0, **{"salt": b"shop\0", **options})
        rows = found.orderBy("partition", "offset").collect()
        forms[name] = [row["key_id"] for row in rows]
        assert all((row["key"] is not None) == (name == "plain") for row in rows if row["key_id"])
        assert all(row["content"] is None for row in rows), "values are kept for strategies that look at them alone"
    assert forms["hashed"] == forms["plain"]
    assert not set(forms["hashed"]) & set(forms["other block"])
    assert not set(forms["hashed"]) & set(forms["with a key"])


def test_a_key_that_is_no_text_is_shown_in_hex(spark: SparkSession) -> None:
    from kafka_dr_spark import conflicts

    world = KeyFights(2, [Fought(n, 0, START_MS + n, b"\xff\x00", b"%d" % n, 0) for n in range(2)])
    nothing = spark.createDataFrame([], conflicts.ARRIVALS)
    met = conflicts.meetings(site_records(spark, world), nothing, sites=2)
    (row,) = conflicts.findings(conflicts.judged(met, skew_ms=SKEW), sites=SITES).collect()
    assert (row["key"], row["certainty"]) == ("0xFF00", "possible")


def test_what_cannot_be_judged_is_counted(spark: SparkSession) -> None:
    from kafka_dr_spark import conflicts

    written = [
        Fought(0, 0, START_MS, b"a", b"1", 0),
        Fought(0, 0, -1, b"a", b"1", 1),
        Fought(0, 0, START_MS, None, b"1", 2),
        Fought(0, 0, START_MS - 9, b"a", b"1", 3),
    ]
    found = conflicts.site_records(as_read(spark, written), origin=0, salt=b"")
    (row,) = conflicts.read_counts(found, horizon=START_MS).collect()
    assert (row["records"], row["without_key"], row["untimed"], row["late"]) == (4, 1, 1, 1)
    (row,) = conflicts.read_counts(found, horizon=None).collect()
    assert row["late"] == 0
    assert conflicts.usable(found).count() == 2


def test_what_each_audit_has_to_find_of_itself_is_found(spark: SparkSession) -> None:
    from jobs.conflicts.self_test import missed

    assert missed(spark, skew_ms=SKEW) == ""
