"""Each strategy decides in Spark as in plain Python, whatever the order in which records are given."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import resolved
from support.resolved import Counting, LastRecord, PlainStrategy

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = [pytest.mark.spark]

MEMBERS = ("east", "west", "north")
SCHEMA = "number int, records array<struct<origin int, time bigint, content binary>>"

VALUES = st.sampled_from(["a", "b", 'é"\\', 1, 2, 1.5, True, None, [1, "x"], {"y": 1, "x": 2}, {"x": 2, "y": 1}])
OBJECTS = st.dictionaries(st.sampled_from(["price", "name", 'é"\n', "", "tags"]), VALUES, max_size=4)
TWICE = (b'{"a": 1, "a": 2}', b'{"a": {"b": 1, "b": 1}}')
ODD = st.sampled_from([None, b"", b"[1]", b"1", b"null", b"no JSON", b"\xff", *TWICE])
CONTENTS = st.one_of(
    OBJECTS.map(lambda each: json.dumps(each).encode()),
    OBJECTS.map(lambda each: json.dumps(each, ensure_ascii=False, indent=1).encode()),
    ODD,
)
KEYS = st.lists(
    st.builds(LastRecord, st.integers(0, 2), st.integers(0, 3), CONTENTS),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each.origin,
)


def least(one: Column, other: Column) -> Column:
    from pyspark.sql import functions as f

    return f.least(one["content"], other["content"])


def first(one: Column, other: Column) -> Column:
    return one["content"]


def at_random(one: Column, other: Column) -> Column:
    from pyspark.sql import functions as f

    return f.concat(f.lit("r"), f.rand().cast("string"))


def plain_least(one: bytes | None, other: bytes | None) -> bytes | None:
    return min((each for each in (one, other) if each is not None), default=None)


#: By name: what Spark is asked for, and what has to come of it.
CONTRACT: dict[str, tuple[dict[str, Any], PlainStrategy]] = {
    "last_write_wins": ({}, resolved.last_write_wins),
    "source_priority": ({"priority": ["north"]}, resolved.source_priority([2, 0, 1])),
    "keep_both": ({}, resolved.keep_both),
    "merge": ({}, resolved.merge),
    "custom": ({"function": least}, resolved.custom(plain_least)),
}


def decided(
    spark: SparkSession, keys: Sequence[Sequence[LastRecord]], asked: Mapping[str, dict[str, Any]]
) -> dict[str, list[Counting]]:
    """Return what each strategy says of each key, by its name; in one pass, because each costs seconds."""
    from kafka_dr_spark.resolution import strategy

    rows = spark.createDataFrame(list(enumerate(map(list, keys))), SCHEMA).coalesce(1)
    columns = (strategy(name, MEMBERS, **options)(rows["records"]).alias(name) for name, options in asked.items())
    found = rows.select("number", *columns).orderBy("number").collect()
    return {name: [as_counting(row[name]) for row in found] for name in asked}


def as_counting(row: Any) -> Counting:
    content = None if row["content"] is None else bytes(row["content"])
    fields = None if row["fields"] is None else tuple(row["fields"])
    return Counting(row["winner"], content, fields, row["refused"])


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(keys=st.lists(KEYS, min_size=60, max_size=200))
def test_each_strategy_decides_in_spark_as_in_plain_python_in_whatever_order_records_are(
    spark: SparkSession, keys: list[list[LastRecord]]
) -> None:
    both_orders = [*keys, *(each[::-1] for each in keys)]
    found = decided(spark, both_orders, {name: asked for name, (asked, _) in CONTRACT.items()})
    for name, (_, plain) in CONTRACT.items():
        expected = [as_value(plain(each)) for each in keys]
        assert [as_value(each) for each in found[name]] == expected * 2, name


def as_value(of: Counting) -> tuple[Any, ...]:
    merged = resolved.as_json(resolved.as_object(of.content)) if of.fields is not None else of.content
    return of.winner, merged, of.fields, of.refused


def test_a_function_whose_answer_depends_on_how_it_is_asked_is_refused(spark: SparkSession) -> None:
    keys = [
        [LastRecord(0, 1, b"a"), LastRecord(1, 1, b"b")],
        [LastRecord(0, 1, b"a"), LastRecord(1, 2, b"a")],
        [LastRecord(0, 1, b"a")],
        [LastRecord(0, 1, b"a"), LastRecord(1, 2, b"b"), LastRecord(2, 3, b"c")],
    ]
    expected = {least: [False] * 4, first: [True, False, False, True], at_random: [True, True, False, True]}
    for function, refused in expected.items():
        found = decided(spark, keys, {"custom": {"function": function}})["custom"]
        assert [each.refused for each in found] == refused, function


def test_a_function_that_says_something_else_the_next_time_is_refused(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    said = ["one", "one", "another"]

    def changes_its_mind(one: Column, other: Column) -> Column:
        return f.lit(said.pop(0))

    keys = [[LastRecord(0, 1, b"a"), LastRecord(1, 1, b"b")]]
    (found,) = decided(spark, keys, {"custom": {"function": changes_its_mind}})["custom"]
    assert (found.refused, said) == (True, [])


def test_a_function_is_named_by_its_module(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_dr_spark.resolution import strategy

    module: Any = ModuleType("shop_rules")
    module.cheapest = least
    monkeypatch.setitem(sys.modules, "shop_rules", module)
    keys = [[LastRecord(0, 2, b"b"), LastRecord(1, 1, b"a")]]
    assert decided(spark, keys, {"custom": {"function": "shop_rules:cheapest"}}) == {"custom": [Counting(1, b"a")]}
    for missing, error in (("shop_rules:dearest", AttributeError), ("shop_ruless:cheapest", ImportError)):
        with pytest.raises(error):
            strategy("custom", MEMBERS, function=missing)


#: By strategy: who wins, whether the clocks alone decide, and the fields that differ, of two conflicts.
SHOWN: dict[str, tuple[list[Any], list[bool], list[Any]]] = {
    "last_write_wins": (["west", "west"], [True, True], [None, None]),
    "source_priority": (["east", "east"], [False, False], [None, None]),
    "keep_both": ([None, None], [False, False], [None, None]),
    "merge": ([None, None], [False, True], [[], ["a"]]),
    "custom": (["east", "east"], [True, True], [None, None]),
}


def test_a_finding_shows_who_wins_and_whether_the_clocks_alone_decide(spark: SparkSession) -> None:
    from kafka_dr_spark import conflicts
    from kafka_dr_spark.resolution import TIMELESS, strategy
    from support.fought_frames import as_read
    from support.key_fights import SKEW, START_MS, Fought

    made = [(0, b'{"a": 1}', b"k"), (1, b'{"b": 1}', b"k"), (0, b'{"a": 1}', b"l"), (1, b'{"a": 2}', b"l")]
    both = []
    for origin in (0, 1):
        own = [Fought(o, 0, START_MS + o, key, value, n) for n, (o, value, key) in enumerate(made) if o == origin]
        both.append(conflicts.site_records(as_read(spark, own), origin=origin, salt=b"", plain=True, values=True))
    met = conflicts.meetings(both[0].unionAll(both[1]), spark.createDataFrame([], conflicts.ARRIVALS), sites=2)
    asked = {name: options for name, (options, _) in CONTRACT.items()} | {"source_priority": {"priority": ["east"]}}
    for name, (winner, within_skew, fields) in SHOWN.items():
        by = strategy(name, MEMBERS, **asked[name])
        judged = conflicts.judged(met, skew_ms=SKEW, strategy=by, by_time=name not in TIMELESS)
        rows = conflicts.findings(judged, sites=MEMBERS).orderBy("key").collect()
        assert [row["winner"] for row in rows] == winner, name
        assert [row["within_skew"] for row in rows] == within_skew, name
        assert [row["fields"] for row in rows] == fields, name
        assert {(row["margin_ms"], row["refused"]) for row in rows} == {(1, False)}, name
