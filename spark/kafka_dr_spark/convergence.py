"""Whether members come to the same value of each key, from their own logs and from the copies that each of them holds.

The state of a key on a member is what a strategy makes of the last record of each origin, by the order of its own log.
A log that has lost records, because they expired or were compacted away, may have lost the last record of a key: where
a member has no record of a key and its log is such a one, the state is unknown, and never equal.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_dr_spark.conflicts import shown_key
from kafka_dr_spark.resolution import Strategy, last_records

#: Logs that have lost records: that of ``origin`` as ``member`` holds it, its own or a copy.
LOSSES = "member int, origin int, topic string, partition int"
_KEY = ("topic", "key_id")
_LAST = ("origin", "time", "content", "value", "partition", "offset", "lossy", "key")


def states(held: DataFrame, losses: DataFrame, *, members: int, strategy: Strategy) -> DataFrame:
    """Return for each key ``topic, key_id, key, verdict, by_member``.

    ``verdict`` is ``equal``, ``differs`` or ``unknown``; ``by_member`` has, for each member that holds records of the
    key, its number, a hash of its state, ``winner``, and the records that it was made of.

    :param held: records of each origin as each member holds them, see :data:`conflicts.SITE_RECORDS`, with the number
        of the ``member``; all of them below offsets that are the same on all members
    :param losses: see :data:`LOSSES`
    :param members: how many there are
    """
    of_log = ["origin", "topic", "partition"]
    lossy = losses.groupBy(*of_log).agg(f.collect_set("member").alias("lossy"))
    known = held.where("key_id is not null").join(f.broadcast(lossy), of_log, "left")
    # All that follows is grouped by the key and more, so this is the one shuffle.
    on_member = last_records(known.repartition(*_KEY), (*_KEY, "member"), _LAST)
    resolved = on_member.withColumn("resolved", strategy(f.col("records")))
    state = f.struct("member", _state().alias("state"), f.col("resolved.winner").alias("winner"), "records")
    compared = resolved.groupBy(*_KEY).agg(f.array_sort(f.collect_list(state)).alias("by_member"))
    return compared.select(
        *_KEY,
        f.col("by_member")[0]["records"][0]["key"].alias("key"),
        f.when(_unknown(), "unknown").when(_equal(members), "equal").otherwise("differs").alias("verdict"),
        "by_member",
    )


def _state() -> Column:
    """Return a hash of what counts: of a record as it is, of a value that was made, or of all that are kept."""
    won = f.filter("records", lambda each: each["origin"] == f.col("resolved.winner"))
    all_ = f.transform("records", lambda each: f.struct(each["origin"], each["value"].isNull(), each["value"]))
    one = f.transform(won, lambda each: f.struct(each["origin"], each["time"], each["value"].isNull(), each["value"]))
    made = f.xxhash64("resolved.content")
    return (
        f.when(f.size(won) > 0, f.xxhash64(one))
        .when(f.col("resolved.content").isNotNull(), made)
        .otherwise(f.xxhash64(all_))
    )


def _unknown() -> Column:
    """Whether a member has no record of an origin that another one has, and its log of that origin has lost some."""

    def holds(member: Column, origin: Column) -> Column:
        return f.exists(
            "by_member",
            lambda each: (each["member"] == member) & f.exists(each["records"], lambda own: own["origin"] == origin),
        )

    def may_lack(record: Column) -> Column:
        return f.exists(record["lossy"], lambda member: ~holds(member, record["origin"]))

    return f.exists(
        "by_member", lambda each: f.exists(each["records"], lambda one: f.coalesce(may_lack(one), f.lit(False)))
    )


def _equal(members: int) -> Column:
    seen = f.array_distinct(f.transform("by_member", lambda each: each["state"]))
    return (f.size("by_member") == members) & (f.size(seen) == 1)


def by_range(found: DataFrame, *, members: int, digits: int = 2) -> DataFrame:
    """Return for each topic and range of keys ``keys, differs, unknown`` and ``hashes``: that of each member's states.

    A range is the keys whose ``key_id`` begins with the same digits. Members whose hashes agree have the same states.

    :param found: see :func:`states`
    :param digits: how many, in hex
    """

    def of_member(number: int) -> Column:
        own = f.filter("by_member", lambda each: each["member"] == number)
        return f.bit_xor(f.xxhash64("key_id", f.get(own, f.lit(0))["state"]))

    return found.groupBy("topic", f.left("key_id", f.lit(digits)).alias("range")).agg(
        f.count("*").alias("keys"),
        *(f.sum((f.col("verdict") == each).cast("long")).alias(each) for each in ("differs", "unknown")),
        f.array(*map(of_member, range(members))).alias("hashes"),
    )


def differing(found: DataFrame, *, most: int) -> DataFrame:
    """Return keys whose states differ: ``topic, key, by_member``.

    ``by_member`` has of each member that holds the key its number, who wins there, and all last records: origin,
    partition and offset on that member, and time in milliseconds since the epoch.

    :param found: see :func:`states`
    """
    names = ("origin", "partition", "offset", "time")
    shown = f.transform(
        "by_member",
        lambda each: f.struct(
            each["member"].alias("member"),
            each["winner"].alias("winner"),
            f.transform(each["records"], lambda one: f.struct(*(one[name].alias(name) for name in names))).alias(
                "last"
            ),
        ),
    )
    return (
        found.where("verdict = 'differs'")
        .select("topic", shown_key(), shown.alias("by_member"))
        .orderBy("topic", "key")
        .limit(most)
    )
