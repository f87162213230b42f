"""Reads the Parquet files of the fingerprint log into arrays, with metadata alone where that is enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from copy_audit.fingerprints import MOST_IN_MEMORY, Fingerprints, Longs, Spool
from kafka_dr.audit.copies import NO_TIMESTAMP
from kafka_dr.positions import TopicPartition

#: Offsets of a partition that are taken from Spark at once.
_AT_ONCE = 5_000_000
#: As :func:`kafka_dr_spark.fingerprints.fingerprints` returns them.
_COLUMNS = ("topic", "partition", "offset", "timestamp", "hash", "key")
_NUMBERS = _COLUMNS[2:5]


def read_file(path: Path) -> list[tuple[TopicPartition, Fingerprints]]:
    """Read a file of the log. Mostly it holds one partition, and then only the numbers are read."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    partitions = {_partition_of(group) for group in groups}
    partition = partitions.pop() if len(partitions) == 1 else None
    if partition is None:
        return _split(pq.read_table(path, partitioning=None))
    keyed = all(_nulls(group.column(_COLUMNS.index("key"))) == 0 for group in groups)
    table = pq.read_table(path, partitioning=None, columns=[*_NUMBERS, *(["key"] if keyed else [])])
    return [(partition, Fingerprints(*(longs(column) for column in table.columns)))]


def holds_stamped(path: Path) -> bool:
    """Return whether a file holds a record that its broker stamped, from its metadata."""
    return any(each is None or not each.has_min_max or bool(each.max) for each in _statistics(path, "stamped"))


def holds_untimed(path: Path) -> bool:
    """Return whether a file holds a record without a timestamp; mostly its metadata are enough."""
    said = _statistics(path, "timestamp")
    if all(each is not None and each.has_min_max and each.min > NO_TIMESTAMP for each in said):
        return False
    # A time before 1970 is a time.
    return bool(
        (longs(pq.read_table(path, partitioning=None, columns=["timestamp"])["timestamp"]) == NO_TIMESTAMP).any()
    )


def _statistics(path: Path, name: str) -> list[pq.Statistics | None]:
    """Return what the metadata of a file say of a column, by row group."""
    metadata = pq.read_metadata(path)
    columns = (
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    )
    return [column.statistics for column in columns if column.path_in_schema == name]


def _partition_of(group: pq.RowGroupMetaData) -> TopicPartition | None:
    """Return the partition of all rows of a group, if that is certain."""
    found = []
    for column in (group.column(0), group.column(1)):
        statistics = column.statistics
        if statistics is None or not statistics.has_min_max or _nulls(column) != 0 or statistics.min != statistics.max:
            return None
        found.append(statistics.min)
    return TopicPartition(*found)


def _nulls(column: pq.ColumnChunkMetaData) -> int | None:
    """Return how many values are null; ``None`` if the file does not say."""
    statistics = column.statistics
    return statistics.null_count if statistics is not None and statistics.has_null_count else None


def collected(
    kept: DataFrame, *, most_in_memory: int = MOST_IN_MEMORY, at_once: int = _AT_ONCE
) -> dict[TopicPartition, Fingerprints]:
    """Return fingerprints that only Spark can read; if there are many, one range of one partition after the other.

    :param most_in_memory: records; if there are more, the arrays are files
    :param at_once: offsets of a range
    """
    counted = kept.groupBy("topic", "partition").agg(f.count("*"), f.min("offset"), f.max("offset")).collect()
    if sum(row[2] for row in counted) <= most_in_memory:
        return dict(_split(kept.toArrow())) if counted else {}
    found = {}
    for topic, number, count, first, last in counted:
        spool = Spool(count)
        mine = kept.where((f.col("topic") == topic) & (f.col("partition") == number))
        for start in range(first, last + 1, at_once):
            table = mine.where(f.col("offset").between(start, start + at_once - 1)).toArrow()
            spool.add(Fingerprints.joined([log for _, log in _split(table)]))
        found[TopicPartition(topic, number)] = spool.log()
    return found


def spooled(files: Sequence[Path]) -> dict[TopicPartition, Fingerprints]:
    """Read files one by one into arrays that are files themselves: memory is bounded, whatever the volume.

    :param files: each of one topic, with a range of one partition
    """
    ranges: dict[TopicPartition, list[tuple[int, int, Path]]] = defaultdict(list)
    for path in files:
        metadata = pq.read_metadata(path)
        topic, number, offset = (metadata.row_group(0).column(column).statistics.min for column in range(3))
        ranges[TopicPartition(topic, number)].append((offset, metadata.num_rows, path))
    return {partition: _spooled(sorted(found)) for partition, found in ranges.items()}


def _spooled(ranges: Sequence[tuple[int, int, Path]]) -> Fingerprints:
    spool = Spool(sum(rows for _, rows, _ in ranges))
    for _, _, path in ranges:
        for _, log in read_file(path):
            spool.add(log)
    return spool.log()


def _split(table: pa.Table) -> list[tuple[TopicPartition, Fingerprints]]:
    """Split rows by partition."""
    topics, numbers = table["topic"].combine_chunks(), table["partition"].to_numpy()
    offsets, timestamps, hashes = (longs(table[name]) for name in ("offset", "timestamp", "hash"))
    all_keys = None if table["key"].null_count else longs(table["key"])
    codes = topics.dictionary_encode()
    whole = np.asarray(codes.indices) * (int(numbers.max(initial=0)) + 1) + numbers
    found = []
    for code in np.unique(whole):
        rows = slice(None) if (whole == code).all() else np.flatnonzero(whole == code)
        row = int(np.flatnonzero(whole == code)[0])
        keys = None if all_keys is None else all_keys[rows]
        log = Fingerprints(offsets[rows], timestamps[rows], hashes[rows], keys)
        found.append((TopicPartition(str(topics[row]), int(numbers[row])), log.rising()))
    return found


def longs(column: pa.ChunkedArray) -> Longs:
    """Return a column of whole numbers as an array."""
    values: Longs = column.to_numpy().astype(np.int64, copy=False)
    return values
