"""Records of a member's own log that its clients should not have written there, found while each record is read once.

All of it is expressions of the JVM. What is found is a column of the record, so it costs no further pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f

#: The type of what is found of one record: ``kind``, and ``seen``, a name that belongs to it.
STRAYS = "array<struct<kind string, seen string>>"
#: A record names another member. It came back if that one holds the same record, else what it says is wrong.
OTHER_ORIGIN = "other_origin"
#: What a client has written is shown so far.
_LONGEST = 100
_UINT, _INT, _SEED, _FACTOR = 0xFFFFFFFF, 0x7FFFFFFF, 0x9747B28C, 0x5BD1E995


def text(value: Column) -> Column:
    """Return bytes as text; null if they are none."""
    return f.try_validate_utf8(value.cast("string"))


def header(name: str) -> Column:
    """Return the value of the last header of a name, as text; null if there is none."""
    found = f.filter("headers", lambda each: each["key"] == name)
    return text(f.try_element_at(found, f.lit(-1))["value"])


def murmur2() -> Column:
    """Return the hash of the key by which Kafka's Java producers choose partitions, its sign removed."""
    size, words = f.octet_length("key"), f.floor(f.octet_length("key") / 4).cast("int")

    def word(number: Column) -> Column:
        """Return four bytes of the key as a number, the first one least; at the end of the key fewer."""
        digits = [f.substr(f.hex("key"), 8 * number + at, f.lit(2)) for at in (7, 5, 3, 1)]
        return f.conv(f.concat(*digits), 16, 10).cast("long")

    def times(value: Column) -> Column:
        return (value * _FACTOR).bitwiseAND(_UINT)

    def mixed(value: Column, bits: int) -> Column:
        return value.bitwiseXOR(f.shiftrightunsigned(value, bits))

    def with_word(sum_: Column, number: Column) -> Column:
        return times(sum_).bitwiseXOR(times(mixed(times(word(number)), 24)))

    def ended(sum_: Column) -> Column:
        whole = f.when(size % 4 > 0, times(sum_.bitwiseXOR(word(words)))).otherwise(sum_)
        return mixed(times(mixed(whole, 13)), 15).bitwiseAND(_INT)

    numbers = f.filter(f.sequence(f.lit(0), words), lambda each: each < words)
    return f.aggregate(numbers, f.lit(_SEED).bitwiseXOR(size.cast("long")), with_word, ended)


#: By name, a hash of the key that is never negative; null without a key.
HASHES: Mapping[str, Callable[[], Column]] = {"murmur2": murmur2, "crc32": lambda: f.crc32("key")}


def owner(
    members: Sequence[str],
    *,
    by_header: str | None = None,
    by_key_prefix: Mapping[str, str] | None = None,
    by_partition: Sequence[str] = (),
    by_hash: Mapping[str, Any] | None = None,
) -> Column:
    """Return the member that owns a record, by the first rule that names one; null if none does.

    :param by_hash: ``function``, one of :data:`HASHES`, and ``slots``, members by the remainder
    """
    rules = [header(by_header)] if by_header else []
    prefixes = by_key_prefix or {}
    for each in sorted(prefixes, key=len, reverse=True):
        rules.append(f.when(f.startswith("key", f.lit(each.encode())), prefixes[each]))
    if by_partition:
        rules.append(f.get(f.array(*map(f.lit, by_partition)), "partition"))
    if by_hash:
        slot = HASHES[by_hash["function"]]() % len(by_hash["slots"])
        rules.append(f.get(f.array(*map(f.lit, by_hash["slots"])), slot.cast("int")))
    return f.coalesce(*(f.when(each.isin(*members), each) for each in rules))


def _found(wrong: Column, kind: str, seen: Column) -> Column:
    return f.when(wrong, f.struct(f.lit(kind).alias("kind"), f.left(seen, f.lit(_LONGEST)).alias("seen")))


def not_owned(member: str, whose: Column) -> list[Column]:
    """Return what is wrong if a member has written a record that is owned by ``whose``: it is ``seen``."""
    return [_found(whose != member, "not_owner", whose), _found(whose.isNull(), "no_owner", whose)]


def not_tagged(
    member: str,
    members: Sequence[str],
    *,
    origin: str,
    field: str | None,
    required: Sequence[str],
    names: Mapping[str, str],
    replicator_headers: Sequence[str],
) -> list[Column]:
    """Return what is wrong with what a record says of its origin.

    ``origin_missing``: ``seen`` is the header or field; ``origin_wrong``: what is said, and no member is called so;
    :data:`OTHER_ORIGIN`: the member that it names instead; ``came_back``: the header of a replicator.

    :param field: the way to a field of JSON values that names the origin, instead of the header; deletions have none
    :param names: members by what records call them
    """
    said = f.get_json_object(text(f.col("value")), f"$.{field}") if field else header(origin)
    has_field = f.col("value").isNotNull() if field else f.lit(True)
    named = f.coalesce(*(f.when(said == each, f.lit(whose)) for each, whose in names.items()), said)
    known = named.isin(*members)

    def missing(found: Column) -> Column:
        return f.coalesce(found == "", f.lit(True))

    return [
        _found(has_field & missing(said), "origin_missing", f.lit(field or origin)),
        *(_found(missing(header(each)), "origin_missing", f.lit(each)) for each in required),
        _found((said != "") & ~known, "origin_wrong", said),
        _found(known & (named != member), OTHER_ORIGIN, named),
        *(_found(f.array_contains("headers.key", each), "came_back", f.lit(each)) for each in replicator_headers),
    ]


def strays(found: Sequence[Column]) -> Column:
    """Return what is wrong with a record, see :data:`STRAYS`; empty if nothing is."""
    return f.array_compact(f.array(*found)).cast(STRAYS)
