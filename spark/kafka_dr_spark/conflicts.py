"""Records of one key that meet between sites. ``kafka_dr.conflicts.rules`` says the same for one key, in words.

All of it is expressions of the JVM: records are grouped by the digest of their key, and one window for each key finds
the neighbours, so a key that is written a million times costs a sort and one look at each record.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from kafka_dr_spark.resolution import Strategy, last_write_wins
from kafka_dr_spark.strays import OTHER_ORIGIN, STRAYS, strays, text

#: ``origin`` is the number of the site in the declared order, ``key_id`` the digest of the key in hex, ``key`` the key
#: itself if it may be kept, ``value`` a hash, null for a deletion; ``fresh``: no audit has met the record before;
#: ``strays``: what is wrong with the record itself; ``content``: the value, where a strategy looks at values.
SITE_RECORDS = (
    "origin int, topic string, partition int, offset bigint, time bigint, stamped boolean, key_id string, key binary, "
    f"value bigint, fresh boolean, strays {STRAYS}, content binary"
)
#: What is known of when records arrived, and were read, by site; a stretch without ``after`` has no end.
ARRIVALS = (
    "origin int, topic string, partition int, first bigint, after bigint, not_before array<bigint>, "
    "read_by array<bigint>"
)
_LOG_APPEND_TIME = 1
_OF_RECORD = ("origin", "partition", "offset", "time", "stamped", "value", "fresh", "not_before", "read_by", "content")


def site_records(
    records: DataFrame,
    *,
    origin: int,
    salt: bytes,
    content_key: DataFrame | None = None,
    plain: bool = False,
    values: bool = False,
    wrong: Sequence[Column] = (),
) -> DataFrame:
    """Return records of an origin's own log as :data:`SITE_RECORDS`; those without a key have no ``key_id``.

    :param records: as Spark's Kafka source reads them
    :param salt: is hashed with each key, so that digests of two blocks cannot be compared
    :param content_key: a relation of one row, ``content_key``, that is hashed as well
    :param plain: also keep the key itself
    :param values: also keep the value itself
    :param wrong: what may be wrong with each record, see :mod:`kafka_dr_spark.strays`
    """
    secret = f.lit(salt)
    if content_key is not None:
        records = records.crossJoin(f.broadcast(content_key))
        secret = f.concat(f.lit(salt), f.col("content_key"))
    return records.select(
        f.lit(origin).cast("int").alias("origin"),
        "topic",
        "partition",
        "offset",
        f.unix_millis("timestamp").alias("time"),
        (f.col("timestampType") == _LOG_APPEND_TIME).alias("stamped"),
        f.sha2(f.concat(secret, f.col("key")), 256).alias("key_id"),
        (f.col("key") if plain else f.lit(None).cast("binary")).alias("key"),
        f.when(f.col("value").isNotNull(), f.xxhash64("value")).alias("value"),
        f.lit(True).alias("fresh"),
        strays(wrong).alias("strays"),
        (f.col("value") if values else f.lit(None).cast("binary")).alias("content"),
    )


def usable(records: DataFrame) -> DataFrame:
    """Return the records that can conflict: those with a key and a time."""
    return records.where(_can_conflict())


def _can_conflict() -> Column:
    return f.col("key_id").isNotNull() & (f.col("time") >= 0)


def read_counts(records: DataFrame, *, horizon: int | None) -> DataFrame:
    """Count what was read by origin, topic and partition: ``records, without_key, untimed, late``.

    :param horizon: a time in ms; of records before it the neighbours may not have been kept; ``None``: all are there
    """
    late = _can_conflict() & (f.col("time") < horizon) if horizon is not None else f.lit(False)
    counted = {
        "without_key": f.col("key_id").isNull(),
        "untimed": f.col("key_id").isNotNull() & (f.col("time") < 0),
        "late": late,
    }
    return records.groupBy("origin", "topic", "partition").agg(
        f.count("*").alias("records"), *(f.sum(each.cast("long")).alias(name) for name, each in counted.items())
    )


def meetings(records: DataFrame, arrivals: DataFrame, *, sites: int) -> DataFrame:
    """Return the pairs of neighbours of which at least one record is fresh: topic, key_id, key, ``earlier``, ``later``.

    :param records: see :data:`SITE_RECORDS`
    :param arrivals: see :data:`ARRIVALS`
    :param sites: how many origins there are
    """
    known = arrivals.alias("a")
    r = usable(records).alias("r")
    within = (
        (f.col("r.origin") == f.col("a.origin"))
        & (f.col("r.topic") == f.col("a.topic"))
        & (f.col("r.partition") == f.col("a.partition"))
        & (f.col("r.offset") >= f.col("a.first"))
        & (f.col("a.after").isNull() | (f.col("r.offset") < f.col("a.after")))
    )
    placed = r.join(f.broadcast(known), within, "left").select("r.*", "a.not_before", "a.read_by")
    of_key = Window.partitionBy("topic", "key_id").orderBy("time", "origin", "partition", "offset")
    so_far = of_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    whole = f.struct(*_OF_RECORD)
    # Rows of its own origin never are the neighbour, so the current row needs not be left out.
    last = [f.last(f.when(f.col("origin") == n, whole), ignorenulls=True).over(so_far) for n in range(sites)]
    others = f.filter(f.array(*last), lambda each: each.isNotNull() & (each["origin"] != f.col("origin")))
    with_last = placed.select("topic", "key_id", "key", whole.alias("later"), "origin", others.alias("others"))
    pairs = with_last.select("topic", "key_id", "key", f.explode("others").alias("earlier"), "later")
    return pairs.where(f.col("earlier.fresh") | f.col("later.fresh"))


def judged(pairs: DataFrame, *, skew_ms: int, strategy: Strategy = last_write_wins, by_time: bool = True) -> DataFrame:
    """Return each pair with ``certainty``, ``kind``, ``equal``, ``margin_ms``, ``resolved``, ``within_skew``.

    :param by_time: whether the strategy looks at times, so that the clocks alone may decide
    """

    def not_seen(written: str, other: str) -> Column:
        known = f.get(f.col(f"{other}.not_before"), f.col(f"{written}.origin"))
        arrived = f.greatest(f.col(f"{other}.time"), f.coalesce(known, f.col(f"{other}.time")))
        return f.col(f"{written}.time") + skew_ms < arrived

    def seen(written: str, other: str) -> Column:
        read = f.get(f.col(f"{other}.read_by"), f.col(f"{written}.origin"))
        said = ~f.col(f"{written}.stamped") & (read + skew_ms <= f.col(f"{written}.time"))
        return f.coalesce(said, f.lit(False))

    unseen = not_seen("earlier", "later") & not_seen("later", "earlier")
    was_seen = seen("earlier", "later") | seen("later", "earlier")
    margin = f.col("later.time") - f.col("earlier.time")
    deletes = f.col("earlier.value").isNull() != f.col("later.value").isNull()
    resolved = strategy(f.array("earlier", "later"))
    # Objects whose fields agree are the same whichever is later.
    by_clocks = f.lit(by_time) & (f.col("resolved.fields").isNull() | (f.size("resolved.fields") > 0))
    return pairs.withColumn("resolved", resolved).select(
        "*",
        f.when(unseen & ~was_seen, "certain")
        .when(was_seen & ~unseen, "ordered")
        .otherwise("possible")
        .alias("certainty"),
        f.when(deletes, "delete_write").otherwise("write_write").alias("kind"),
        f.col("earlier.value").eqNullSafe(f.col("later.value")).alias("equal"),
        margin.alias("margin_ms"),
        (by_clocks & (margin <= skew_ms)).alias("within_skew"),
        (f.col("earlier.partition") != f.col("later.partition")).alias("partition_differs"),
    )


def findings(pairs: DataFrame, *, sites: Sequence[str]) -> DataFrame:
    """Return what is kept of judged pairs: each conflict, and once for each key and two sites if partitions differ.

    :param sites: the names of the origins, in the declared order
    """
    conflicts = pairs.where(f.col("certainty") != "ordered")
    both = f.array_sort(f.array("earlier.origin", "later.origin"))
    first = Window.partitionBy("topic", "key_id", both).orderBy("later.time", "later.origin", "later.offset")
    differs = (
        pairs.where("partition_differs")
        .withColumn("number", f.row_number().over(first))
        .where("number = 1")
        .drop("number")
        .withColumn("kind", f.lit("partition_differs"))
    )
    names = f.array(*map(f.lit, sites))
    records = (
        column
        for which in ("earlier", "later")
        for column in (
            f.get(names, f.col(f"{which}.origin")).alias(f"{which}_origin"),
            f.col(f"{which}.partition").alias(f"{which}_partition"),
            f.col(f"{which}.offset").alias(f"{which}_offset"),
            f.col(f"{which}.time").alias(f"{which}_ms"),
            f.col(f"{which}.value").isNull().alias(f"{which}_deletes"),
        )
    )
    return conflicts.unionByName(differs).select(
        "kind",
        "certainty",
        "topic",
        shown_key(),
        *records,
        "equal",
        f.get(names, f.col("resolved.winner")).alias("winner"),
        "margin_ms",
        "within_skew",
        "resolved.fields",
        "resolved.refused",
    )


def shown_key() -> Column:
    """Return how a record's key is named: as text, in hex if it is none, by its digest if it is not kept."""
    return f.coalesce(text(f.col("key")), f.concat(f.lit("0x"), f.hex("key")), f.col("key_id")).alias("key")


def stray_findings(records: DataFrame, *, sites: Sequence[str], known: DataFrame | None = None) -> DataFrame:
    """Return what is wrong with single records, as :func:`findings`: ``later`` is the record, there is no ``earlier``.

    :param records: see :data:`SITE_RECORDS`, those without a key as well
    :param known: all records that are known, where records say which member took them first: one that names another
        member has come back if that member took the same key and value before
    """
    names = f.array(*map(f.lit, sites))
    found = records.select("*", f.inline("strays"), f.get(names, "origin").alias("taken_by"))
    if known is not None:
        same = ("topic", "key_id", "value")
        first = known.groupBy(f.get(names, "origin").alias("seen"), *same).agg(f.min("time").alias("first")).alias("o")
        equal = [f.col(f"s.{each}").eqNullSafe(f.col(f"o.{each}")) for each in ("seen", *same)]
        back = f.when(f.col("o.first") <= f.col("s.time"), "came_back").otherwise("origin_wrong")
        # Records with neither key nor value all look the same.
        other = f.col("s.kind") == OTHER_ORIGIN
        judged = other & (f.col("s.key_id").isNotNull() | f.col("s.value").isNotNull())
        met = found.alias("s").join(first, [judged, *equal], "left")
        kind = f.when(other, back).otherwise(f.col("s.kind"))
        found = met.select("s.*", kind.alias("judged")).drop("kind").withColumnRenamed("judged", "kind")
    return found.select(
        "kind",
        f.lit("certain").alias("certainty"),
        "topic",
        shown_key(),
        f.col("taken_by").alias("later_origin"),
        f.col("partition").alias("later_partition"),
        f.col("offset").alias("later_offset"),
        f.col("time").alias("later_ms"),
        f.col("value").isNull().alias("later_deletes"),
        "seen",
    )


def to_meet(records: DataFrame, *, horizon: int) -> DataFrame:
    """Return what the next audit has to meet: all records from a time on, and of each key and origin the last before.

    :param horizon: milliseconds since the epoch
    """
    recent = f.col("time") >= horizon
    of_origin = Window.partitionBy("topic", "key_id", "origin", recent)
    newest = of_origin.orderBy(f.desc("time"), f.desc("partition"), f.desc("offset"))
    ranked = usable(records).withColumn("number", f.row_number().over(newest))
    return (
        ranked.where(recent | (f.col("number") == 1))
        .drop("number")
        .withColumns({"fresh": f.lit(False), "strays": strays(())})
    )


def counts(found: DataFrame) -> DataFrame:
    """Count findings that agree in everything but key, offsets and times."""
    same = ("topic", "earlier_origin", "later_origin", "kind", "certainty", "equal", "within_skew")
    return found.groupBy(*same).count()


def stray_counts(found: DataFrame) -> DataFrame:
    """Count stray records by topic, the member that took them, and what is wrong."""
    return found.groupBy("topic", "later_origin", "kind").count()


def top_keys(found: DataFrame, *, most: int) -> DataFrame:
    """Return the keys with most conflicts: ``topic, key, conflicts``."""
    met = found.where("kind != 'partition_differs'")
    by_key = met.groupBy("topic", "key").agg(f.count("*").alias("conflicts"))
    return by_key.orderBy(f.desc("conflicts"), "topic", "key").limit(most)


def by_hour(found: DataFrame, *, most: int) -> DataFrame:
    """Return conflicts of each hour, the newest first: ``hour`` in ms since the epoch, ``certain, possible``."""
    met = found.where("kind != 'partition_differs'").withColumn("hour", f.expr("later_ms - pmod(later_ms, 3600000)"))
    sums = (f.sum((f.col("certainty") == each).cast("long")).alias(each) for each in ("certain", "possible"))
    return met.groupBy("hour").agg(*sums).orderBy(f.desc("hour")).limit(most)


def worst(found: DataFrame, *, most: int) -> DataFrame:
    """Return the findings that a person wants to see first: the certain ones, of each the newest."""
    order = f.when(f.col("kind") == "partition_differs", 2).when(f.col("certainty") == "certain", 0).otherwise(1)
    return found.orderBy(order, f.desc("later_ms"), "topic", "key", "later_offset").limit(most)


def written_records(session: SparkSession, folder: str) -> DataFrame:
    """Return records that were kept, none of them fresh unless they were written so."""
    return session.read.schema(SITE_RECORDS).parquet(folder)
