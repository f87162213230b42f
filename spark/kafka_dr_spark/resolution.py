"""Which value of a key counts, of the last records that several members took: by the declared strategy.

A strategy takes an array of records, at most one of each member, and returns what counts. It never sees in which order
the records are: it orders them by time, then by the declared order of their members, the first one last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_dr_spark.strays import text

#: What a record has at least: ``origin`` is the number of the member, ``content`` the value, null for a deletion.
RECORD = ("origin", "time", "content")
#: ``winner``: the number of the member whose record counts, null if none does as it is; ``content``: the value that
#: counts; ``fields``: those in which merged objects differ; ``refused``: the answer depends on how it is asked.
RESOLVED = "struct<winner int, content binary, fields array<string>, refused boolean>"
#: Takes records of two members, see :data:`RECORD`, and returns the value that counts.
Custom = Callable[[Column, Column], Column]
Strategy = Callable[[Column], Column]


def last_records(records: DataFrame, by: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Return, for each key, the last record of each origin by the order of its own log, as the array ``records``.

    Of several partitions that have a key the last record of the latest time counts. It costs one shuffle.

    :param records: with ``origin``, ``partition``, ``offset`` and ``time``
    :param by: columns that are the key
    :param columns: what each record has in the array: ``origin`` first, also ``time`` and ``partition``
    """
    whole, newest = f.struct(*columns), f.struct("record.time", "record.partition")
    in_log = records.groupBy(*by, "origin", "partition").agg(f.max_by(whole, "offset").alias("record"))
    last = in_log.groupBy(*by, "origin").agg(f.max_by("record", newest).alias("record"))
    return last.groupBy(*by).agg(f.array_sort(f.collect_list("record")).alias("records"))


def _newest_last(records: Column) -> Column:
    order = f.transform(records, lambda each: f.struct(each["time"], -each["origin"], each.alias("record")))
    return f.transform(f.array_sort(order), lambda each: each["record"])


def _is(
    winner: Column, content: Column | None = None, fields: Column | None = None, refused: Column | None = None
) -> Column:
    nothing = f.lit(None)
    parts = (winner, nothing if content is None else content, nothing if fields is None else fields)
    return f.struct(*parts, f.lit(False) if refused is None else refused).cast(RESOLVED)


def _one(record: Column) -> Column:
    return _is(record["origin"], record["content"])


def last_write_wins(records: Column) -> Column:
    """Return the record of the latest time; of equal times that of the member that is declared first."""
    return _one(f.try_element_at(_newest_last(records), f.lit(-1)))


def source_priority(records: Column, *, priority: Sequence[int]) -> Column:
    """Return the record of the first member that has one.

    :param priority: numbers of all members
    """
    ranks = f.array(*map(f.lit, priority))
    order = f.transform(records, lambda each: f.struct(f.array_position(ranks, each["origin"]), each.alias("record")))
    return _one(f.array_min(order)["record"])


def keep_both(records: Column) -> Column:
    """Return that none counts more than the others, unless there is one alone."""
    alone = f.when(f.size(records) == 1, f.try_element_at(records, f.lit(1)))
    return _is(alone["origin"], alone["content"])


def merge(records: Column) -> Column:
    """Return one JSON object of the newest of each field. If not all values are objects, the last one wins."""
    fields_of = f.transform(_newest_last(records), lambda each: _as_fields(each["content"]))
    names = f.array_sort(f.array_distinct(f.flatten(f.transform(fields_of, f.map_keys))))

    def said(name: Column) -> Column:
        having = f.filter(fields_of, lambda each: f.map_contains_key(each, name))
        return f.transform(having, lambda each: f.try_element_at(each, name))

    differing = f.filter(names, lambda name: f.size(f.array_distinct(said(name))) > 1)
    newest = f.transform(names, lambda name: f.struct(name, f.parse_json(f.try_element_at(said(name), f.lit(-1)))))
    whole = f.to_json(f.map_from_entries(newest)).cast("binary")
    objects = ~f.exists(fields_of, lambda each: each.isNull()) & (f.size(records) > 1)
    return f.when(objects, _is(f.lit(None), whole, differing)).otherwise(last_write_wins(records))


def _as_fields(content: Column) -> Column:
    """Return the fields of a JSON object, each as JSON; null of all else."""
    read = f.try_parse_json(text(content)).try_cast("map<string,variant>")
    return f.transform_values(read, lambda _, each: f.to_json(each))


def custom(records: Column, *, function: Custom) -> Column:
    """Return the value that a function gives, asked with both orders and twice; refused if the answers differ."""
    ordered = _newest_last(records)

    def asked(in_order: Column) -> Column:
        def both(one: Column, other: Column) -> Column:
            return other.withField("content", function(one, other).cast("binary"))

        rest = f.slice(in_order, f.lit(2), f.greatest(f.size(in_order) - 1, f.lit(0)))
        return f.aggregate(rest, f.try_element_at(in_order, f.lit(1)), both)["content"]

    answer, *again = (asked(each) for each in (ordered, f.reverse(ordered), ordered))
    same = f.lit(True)
    for each in again:
        same = same & answer.eqNullSafe(each)
    whose = f.filter(ordered, lambda each: each["content"].eqNullSafe(answer))
    return _is(f.try_element_at(whose, f.lit(-1))["origin"], answer, refused=~same)


_ALONE: Mapping[str, Strategy] = {"last_write_wins": last_write_wins, "merge": merge, "keep_both": keep_both}
#: The strategies that do not look at times.
TIMELESS = frozenset({"source_priority", "keep_both"})


def strategy(
    name: str, members: Sequence[str], *, priority: Sequence[str] = (), function: str | Custom = ""
) -> Strategy:
    """Return what decides.

    :param members: in the declared order
    :param priority: of ``source_priority``: members, the one that counts most first; the others follow as declared
    :param function: of ``custom``: a function of Spark's columns, or ``MODULE:NAME`` of one, see :data:`Custom`
    :raises ImportError: there is no such module
    :raises AttributeError: the module has no such function
    """
    if name == "source_priority":
        ranked = dict.fromkeys((*priority, *members))
        return partial(source_priority, priority=[members.index(each) for each in ranked])
    if name == "custom":
        return partial(custom, function=_named(function) if isinstance(function, str) else function)
    return _ALONE[name]


def _named(function: str) -> Custom:
    module, _, attribute = function.partition(":")
    found: Custom = getattr(import_module(module), attribute)
    return found
