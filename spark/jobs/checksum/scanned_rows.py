"""The fingerprints of a topic on one cluster that an audit compares, as rows that executors read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from copy_audit.expired import Span
from copy_audit.work_items import EVERYTHING
from jobs.fingerprint_log import FingerprintLog, FlowEnd
from kafka_dr.audit.copies import NO_TIMESTAMP

_SCHEMA = "topic string, partition int, offset long, timestamp long, hash long"


class _File(NamedTuple):
    """What a file has of one partition.

    :param first: the lowest offset, and ``last`` the highest one
    """

    scan: str
    path: str
    partition: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ComparedScans:
    """What is compared of a topic on one cluster.

    :param scans: their names, and the partitions that are compared of each
    :param since: the first offset of a partition that is compared, where that is not the first one of the scans
    :param left_out: ranges of offsets of a partition that are not compared
    """

    end: FlowEnd
    scans: Mapping[str, Sequence[int]]
    since: Mapping[int, int]
    left_out: Mapping[int, Sequence[Span]]


@dataclass(frozen=True, slots=True)
class ScannedRows:
    """The rows of these scans."""

    log: FingerprintLog
    topic: str
    compared: ComparedScans
    _files: list[_File] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(each.rows for each in self._files)

    def look(self) -> None:
        """Find out which files have rows of which partition."""
        for scan, partitions in self.compared.scans.items():
            rows = self._read([self.log.folder(scan, self.compared.end)]).where(
                f.col("partition").isin(list(partitions))
            )
            of_file = rows.groupBy(f.col("_metadata.file_path").alias("path"), "partition")
            counted = of_file.agg(f.count("*"), f.min("offset"), f.max("offset")).collect()
            self._files.extend(_File(scan, unquote(path), *numbers) for path, *numbers in counted)

    def within(self, partition: int, offsets: Span) -> DataFrame | None:
        """Return the rows of a range of one partition; ``None`` if no file has any."""
        start, end = max(offsets[0], self.compared.since.get(partition, 0)), offsets[1]
        mine = [each for each in self._files if each.partition == partition and each.last >= start and each.first < end]
        rows = self._read(sorted({each.path for each in mine})) if mine else None
        return rows and rows.where(self._is_compared(partition) & (f.col("offset") >= start) & (f.col("offset") < end))

    def all(self) -> DataFrame | None:
        """Return the rows of all partitions; ``None`` if there are none."""
        found = []
        for scan in self.compared.scans:
            mine = [each for each in self._files if each.scan == scan]
            partitions = {each.partition for each in mine}
            special = partitions & {*self.compared.since, *self.compared.left_out}
            wanted = [f.col("partition").isin(sorted(partitions - special)), *map(self._is_compared, sorted(special))]
            if mine:
                rows = self._read(sorted({each.path for each in mine}))
                found.append(rows.where(reduce(Column.__or__, wanted)))
        return reduce(DataFrame.unionAll, found) if found else None

    def time_of(self, partition: int, offset: int) -> int:
        """Return when the record at an offset was made, in milliseconds since the epoch.

        Of one without a time it is that of the record before, or after it: as :meth:`.Fingerprints.dated` has it.
        """
        rows = self.within(partition, EVERYTHING)
        assert rows is not None, "of a record that was read"  # noqa: S101
        before = f.when(f.col("offset") <= offset, f.col("offset"))
        nearest = f.coalesce(f.max_by("timestamp", before), f.min_by("timestamp", "offset"))
        found = rows.where(f.col("timestamp") != NO_TIMESTAMP).agg(nearest).collect()[0][0]
        return NO_TIMESTAMP if found is None else int(found)

    def _read(self, paths: Sequence[str]) -> DataFrame:
        return self.log.session.read.schema(_SCHEMA).parquet(*paths).where(f.col("topic") == self.topic)

    def _is_compared(self, partition: int) -> Column:
        """Return whether a row is of a partition, and compared."""
        wanted = (f.col("partition") == partition) & (f.col("offset") >= self.compared.since.get(partition, 0))
        for start, end in self.compared.left_out.get(partition, ()):
            wanted &= ~((f.col("offset") >= start) & (f.col("offset") < end))
        return wanted
