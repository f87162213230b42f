"""Stranded records whose content is encrypted by the executors: none of it is ever written in the clear.

AES-256-GCM by Spark's own functions, one content for each record. Topic, partition and offset stay readable and are
authenticated with the content: none can be moved to another record. The key is a column of a relation of one row, never
a literal, which plans and the UI would show.

A content is a sequence of fields, each with its length in front (4 bytes, all bits set for no field): the timestamp in
milliseconds as text, key, value; then the number of headers (4 bytes), and the name and value of each.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, StructType

_ABOUT = "cast(concat_ws('/', topic, partition, offset) as binary)"
_FIELD = "if({0} is null, unhex('FFFFFFFF'), concat(unhex(lpad(hex(octet_length({0})), 8, '0')), {0}))"
_HEADERS = (
    "unhex(lpad(hex(size(coalesce(headers, array()))), 8, '0')), aggregate(coalesce(headers, array()), unhex(''), "
    f"(sum, header) -> concat(sum, {_FIELD.format('cast(header.key as binary)')}, {_FIELD.format('header.value')}))"
)
_CONTENT = (
    f"concat({_FIELD.format('cast(cast(timestamp as string) as binary)')}, {_FIELD.format('key')}, "
    f"{_FIELD.format('value')}, {_HEADERS})"
)
_NUMBER = "cast(conv(hex(substring(plain, {0}, 4)), 16, 10) as long)"
_NO_FIELD = 0xFFFFFFFF


def key_relation(session: SparkSession, key: bytes) -> DataFrame:
    """Return a relation of one row with the key of a list's content, ``content_key``.

    The JVM makes it: Python's way writes a temporary file.

    :param key: 32 bytes
    """
    jvm = session._jvm
    values = session.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)  # type: ignore[union-attr]
    values[0] = bytearray(key)
    rows = jvm.java.util.ArrayList()  # type: ignore[union-attr]
    rows.add(jvm.org.apache.spark.sql.RowFactory.create(values))  # type: ignore[union-attr]
    schema = session._jsparkSession.parseDataType(StructType().add("content_key", BinaryType()).json())
    return DataFrame(session._jsparkSession.createDataFrame(rows, schema), session)


def encrypted(records: DataFrame, key: DataFrame) -> DataFrame:
    """Return whole records with one encrypted content each; one whose content was erased has none.

    :param key: see :func:`key_relation`
    """
    content = f.expr(f"aes_encrypt({_CONTENT}, content_key, 'GCM', 'DEFAULT', unhex(''), {_ABOUT})")
    more = ["erased"] if "erased" in records.columns else []
    if more:
        content = f.when(f.col("erased"), None).otherwise(content)
    joined = records.crossJoin(f.broadcast(key))
    return joined.select("topic", "partition", "offset", content.alias("content"), *more)


def decrypted(kept: DataFrame, key: DataFrame) -> DataFrame:
    """Return topic, partition, timestamp, key and size of records that are kept encrypted; 0 of what was erased.

    Of each key there is a digest, made with the content key: to count different keys, Spark writes them to its disks.

    :raises PySparkException: when it is read: a content is not what was written
    """
    plain = f.expr(f"aes_decrypt(content, content_key, 'GCM', 'DEFAULT', {_ABOUT})")
    parts = kept.crossJoin(f.broadcast(key)).withColumn("plain", plain)
    parts = parts.withColumn("stamp", f.expr(_NUMBER.format("1")))
    parts = parts.withColumn("keyed", f.expr(_NUMBER.format("cast(5 + stamp as int)")))
    parts = parts.withColumn("key_bytes", f.expr(f"if(keyed = {_NO_FIELD}, 0, keyed)"))
    parts = parts.withColumn("valued", f.expr(_NUMBER.format("cast(9 + stamp + key_bytes as int)")))
    parts = parts.withColumn("value_bytes", f.expr(f"if(valued = {_NO_FIELD}, 0, valued)"))
    headers = _NUMBER.format("cast(13 + stamp + key_bytes + value_bytes as int)")
    found = "substring(plain, cast(9 + stamp as int), cast(key_bytes as int))"
    return parts.select(
        "topic",
        "partition",
        f.expr("coalesce(cast(cast(substring(plain, 5, cast(stamp as int)) as string) as long), 0)").alias("timestamp"),
        f.expr(f"if(keyed = {_NO_FIELD}, null, sha2(concat(content_key, {found}), 256))").alias("key"),
        f.expr(f"coalesce(octet_length(plain) - stamp - 16 - 8 * {headers}, 0)").alias("size"),
    )
