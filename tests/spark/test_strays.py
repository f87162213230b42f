"""Records that are wrong by themselves are found at their offsets: owned by another member, or by none."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from support.fought_frames import TOPIC, as_read
from support.key_fights import SITES, START_MS, Fought, fights

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = [pytest.mark.spark]


def murmur2(key: bytes) -> int:
    """As Kafka defines it, with its sign removed."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    found = 0x9747B28C ^ len(key)
    whole = len(key) - len(key) % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        found = (found * factor & mask) ^ word
    if rest := key[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return (found ^ found >> 15) & 0x7FFFFFFF


def some_keys() -> list[bytes]:
    chance = random.Random(8)  # noqa: S311 - a test repeats what it saw
    return [b"", b"21", b"foobar", *(chance.randbytes(n % 23) for n in range(300)), b"\xff" * 9, b"x" * 5000]


def found_of(spark: SparkSession, records: list[Fought], wrong: dict[int, list[Column]]) -> list[tuple[Any, ...]]:
    """Return origin, partition, offset, kind and the name that belongs to it, of all findings."""
    from kafka_dr_spark import conflicts

    read = None
    for origin, rules in wrong.items():
        own = as_read(spark, [each for each in records if each.origin == origin])
        each = conflicts.site_records(own, origin=origin, salt=b"shop\0", plain=True, wrong=rules)
        read = each if read is None else read.unionAll(each)
    assert read is not None
    found = conflicts.stray_findings(read, sites=SITES, known=read).collect()
    ends = ("later_partition", "later_offset", "kind", "seen")
    return sorted(((SITES.index(row["later_origin"]), *(row[each] for each in ends)) for row in found), key=str)


def tagged(member: str, **changed: Any) -> list[Column]:
    from kafka_dr.topology.conflicts import ProvenanceSpec
    from kafka_dr_spark import strays

    return strays.not_tagged(member, SITES, **ProvenanceSpec(**changed).model_dump())


def test_each_planted_stray_is_found_at_its_offset_and_nothing_else(spark: SparkSession) -> None:
    from kafka_dr_spark import strays

    world = fights(11, sites=3, stories=300, noise=3000, strays=2500)
    owned = {site: strays.not_owned(site, strays.owner(SITES, by_header="owner")) for site in SITES}
    wrong = {n: [*owned[site], *tagged(site, replicator_headers=["__mskmr"])] for n, site in enumerate(SITES)}
    expected = sorted(((*each.at, kind, seen) for each, kind, seen in world.strays), key=str)
    kinds = {kind for *_, kind, _ in expected}
    assert kinds == {"not_owner", "no_owner", "origin_missing", "origin_wrong", "came_back"}
    assert found_of(spark, world.records, wrong) == expected


def test_a_field_of_json_values_names_the_origin_by_whatever_name(spark: SparkSession) -> None:
    values = [
        (b'{"meta": {"origin": "dc-1"}}', []),
        (b'{"meta": {"origin": "east"}}', []),
        (b'{"meta": {"origin": "dc-2"}}', [("origin_wrong", "west")]),
        (b'{"meta": {"origin": "dc-9"}}', [("origin_wrong", "dc-9")]),
        (b'{"meta": {"origin": "%s"}}' % (b"x" * 200), [("origin_wrong", "x" * 100)]),
        (b'{"meta.origin": "dc-1"}', [("origin_missing", "meta.origin")]),
        (b'{"meta": {"origin": null}}', [("origin_missing", "meta.origin")]),
        (b"no JSON", [("origin_missing", "meta.origin")]),
        (b"\xff", [("origin_missing", "meta.origin")]),
        # A deletion has no fields.
        (None, []),
    ]
    written = [Fought(0, 0, START_MS + n, b"k", value, n) for n, (value, _) in enumerate(values)]
    rules = tagged("east", field="meta.origin", required=[], names={"dc-1": "east", "dc-2": "west"})
    expected = [(0, 0, n, *each) for n, (_, found) in enumerate(values) for each in found]
    assert found_of(spark, written, {0: rules}) == sorted(expected, key=str)


def test_hashes_of_keys_are_those_that_producers_compute(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    from kafka_dr_spark.strays import HASHES

    jvm: Any = spark._jvm
    kafka = jvm.org.apache.kafka.common.utils.Utils
    keys = some_keys()
    rows = spark.createDataFrame([(each,) for each in keys], "key binary")
    found = rows.select("key", *(made().alias(name) for name, made in HASHES.items())).collect()
    assert [row["murmur2"] for row in found] == [murmur2(each) for each in keys]
    assert [row["murmur2"] for row in found] == [kafka.toPositive(kafka.murmur2(bytearray(each))) for each in keys]
    assert [row["crc32"] for row in found] == [zlib.crc32(each) for each in keys]
    without = spark.createDataFrame([(None,)], "key binary")
    assert without.where(f.coalesce(*(made() for made in HASHES.values())).isNotNull()).count() == 0


PREFIXES = {"eu-": "east", "eu-n": "north", "us-": "west"}


@pytest.mark.parametrize(
    ("rules", "owners"),
    [
        ({"by_key_prefix": PREFIXES}, ["east", "north", "west", None, None, None, None, "east"]),
        ({"by_key_prefix": {"": "west"}}, ["west"] * 5 + [None] + ["west"] * 2),
        ({"by_partition": ["east", "west"]}, ["east", "west", None, "east", "west", None, "east", "west"]),
        (
            {"by_key_prefix": {"eu-": "elsewhere"}, "by_partition": ["north"]},
            ["north", None, None] * 2 + ["north", None],
        ),
    ],
)
def test_the_first_rule_that_names_a_member_says_who_owns_a_record(
    spark: SparkSession, rules: dict[str, Any], owners: list[str | None]
) -> None:
    from kafka_dr_spark import strays

    keys = [b"eu-1", b"eu-n1", b"us-", b"eu", b"\xffeu-", None, b"", b"eu-\xff"]
    written = [Fought(0, n % 3, START_MS, key, None, n) for n, key in enumerate(keys)]
    read = as_read(spark, written).select("offset", strays.owner(SITES, **rules).alias("owner")).orderBy("offset")
    assert [row["owner"] for row in read.collect()] == owners


@pytest.mark.parametrize("function", ["murmur2", "crc32"])
def test_a_slot_of_the_hash_of_the_key_says_who_owns_a_record(spark: SparkSession, function: str) -> None:
    from kafka_dr_spark import strays

    hashes: dict[str, Callable[[bytes], int]] = {"murmur2": murmur2, "crc32": zlib.crc32}
    computed = hashes[function]
    slots = ["east", "west", "north", "west", "west"]
    written = [Fought(n % 3, 0, START_MS, key, b"1", n) for n, key in enumerate(some_keys())]
    by_hash = {"function": function, "slots": slots}
    wrong = {n: strays.not_owned(SITES[n], strays.owner(SITES, by_hash=by_hash)) for n in range(3)}
    owners = {each.at: slots[computed(each.key or b"") % len(slots)] for each in written}
    expected = sorted(((*at, "not_owner", whose) for at, whose in owners.items() if whose != SITES[at[0]]), key=str)
    assert 100 < len(expected) < len(written)
    assert found_of(spark, written, wrong) == expected


def test_no_audit_finds_a_record_again_that_a_former_one_has_found(spark: SparkSession) -> None:
    from kafka_dr_spark import conflicts, strays

    rules = strays.not_owned("east", strays.owner(SITES, by_partition=["west"]))
    read = conflicts.site_records(
        as_read(spark, [Fought(0, 0, START_MS, b"k", b"1", 0)]), origin=0, salt=b"", wrong=rules
    )
    (row,) = conflicts.stray_findings(read, sites=SITES).collect()
    assert (row["topic"], row["later_ms"], row["certainty"], row["seen"]) == (TOPIC, START_MS, "certain", "west")
    (count,) = conflicts.stray_counts(conflicts.stray_findings(read, sites=SITES)).collect()
    assert tuple(count) == (TOPIC, "east", "not_owner", 1)
    kept = conflicts.to_meet(read, horizon=0)
    assert kept.columns == read.columns
    assert kept.count() == 1
    assert conflicts.stray_findings(kept, sites=SITES).count() == 0
