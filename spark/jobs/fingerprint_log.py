"""The fingerprint log: what was read of Kafka, as Parquet below the evidence root, a folder for each scan and side.

A scan counts once the state names it; what was written by an audit that died is never read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from copy_audit.fingerprints import MOST_IN_MEMORY, Fingerprints, Longs, Spool
from copy_audit.unmatched import Ancestry
from kafka_dr.clusters import ClientSettings, OffsetRange, TopicPartition
from kafka_dr_spark.fingerprints import WRITE_OPTIONS, Special, fingerprints

FlowEnd = Literal["source", "target"]
#: Offsets of a partition that are taken from Spark at once.
_AT_ONCE = 5_000_000
#: Hashes up to which each task is given all that are looked for.
_MOST_SENT_TO_ALL = 1_000_000
#: As :func:`kafka_dr_spark.fingerprints.fingerprints` returns them.
_COLUMNS = ("topic", "partition", "offset", "timestamp", "hash", "key")
_NUMBERS = _COLUMNS[2:5]
#: What a fetch may bring. The source's defaults are made for streams that trickle.
_READING = {
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 * 1024**2),
    "kafka.fetch.max.bytes": str(32 * 1024**2),
    "kafka.receive.buffer.bytes": str(1024**2),
    "kafka.isolation.level": "read_committed",
    "kafkaConsumer.pollTimeoutMs": "20000",
    "groupIdPrefix": "dr-audit",
    "includeHeaders": "true",
    # Long stretches are read by several tasks, and no file of the log grows beyond what one can take into memory.
    "maxRecordsPerPartition": "5000000",
    # What was deleted meanwhile is found out by asking again where the log starts.
    "failOnDataLoss": "false",
}


@dataclass(frozen=True, slots=True)
class FingerprintLog:
    """The log of one flow.

    :param uri: its folder, as Spark names it
    """

    session: SparkSession
    uri: str
    _files: dict[str, dict[str, list[Path]]] = field(default_factory=dict, repr=False)

    def scan(
        self,
        name: str,
        *,
        settings: Mapping[FlowEnd, ClientSettings],
        ranges: Mapping[FlowEnd, Mapping[TopicPartition, OffsetRange]],
        special: Special,
    ) -> None:
        """Read the ranges of both sides, each once and both at the same time, and keep their fingerprints."""
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self._scan, name, s, settings[s], ranges[s], special) for s in settings]:
                done.result()

    def _scan(
        self,
        name: str,
        side: FlowEnd,
        settings: ClientSettings,
        ranges: Mapping[TopicPartition, OffsetRange],
        special: Special,
    ) -> None:
        wanted = {partition: wanted for partition, wanted in ranges.items() if len(wanted)}
        if not wanted:
            return
        options = {
            **settings.spark(),
            **_READING,
            "assign": json.dumps(_by_topic({p: p.partition for p in wanted}, list)),
            "startingOffsets": json.dumps(_by_topic({p: r.start for p, r in wanted.items()}, dict)),
            "endingOffsets": json.dumps(_by_topic({p: r.end for p, r in wanted.items()}, dict)),
        }
        records = self.session.read.format("kafka").options(**options).load()
        writer = fingerprints(records, special).write.mode("overwrite").options(**WRITE_OPTIONS)
        writer.parquet(self._folder(name, side))
        self._files.pop(str(Path(self._folder(name, side).removeprefix("file://"))), None)

    def stamped(self, name: str, side: FlowEnd) -> frozenset[str]:
        """Return the topics of which a scan has read records that their broker stamped."""
        if not self.exists(name, side):
            return frozenset()
        folder = self._folder(name, side)
        if folder.startswith("file://"):
            files = self._files_of(Path(folder.removeprefix("file://")))
            return frozenset(topic for topic, found in files.items() if any(map(_holds_stamped, found)))
        kept = self.session.read.parquet(folder).where("stamped").select("topic").distinct()
        return frozenset(row.topic for row in kept.collect())

    def read(
        self, side: FlowEnd, scans: Collection[str], topics: Collection[str]
    ) -> dict[TopicPartition, Fingerprints]:
        """Return what scans have kept of some topics."""
        parts: dict[TopicPartition, list[Fingerprints]] = defaultdict(list)
        folders = [self._folder(name, side) for name in scans]
        local = [Path(folder.removeprefix("file://")) for folder in folders if folder.startswith("file://")]
        if len(local) == len(folders):
            files = [file for folder in local for topic in topics for file in self._files_of(folder).get(topic, [])]
            if sum(pq.read_metadata(file).num_rows for file in files) > MOST_IN_MEMORY:
                return spooled(files)
            with ThreadPoolExecutor(4) as pool:
                for found in pool.map(read_file, files):
                    for partition, log in found:
                        if partition.topic in topics:
                            parts[partition].append(log)
            return {partition: Fingerprints.joined(logs) for partition, logs in parts.items()}
        return collected(self.session.read.parquet(*folders).where(f.col("topic").isin(list(topics))))

    def _files_of(self, folder: Path) -> dict[str, list[Path]]:
        """Return the files of a folder by topic. Each holds what one task read: a stretch of one partition."""
        known = self._files.get(str(folder))
        if known is None:
            known = self._files[str(folder)] = {}
            for file in sorted(folder.glob("*.parquet")):
                metadata = pq.read_metadata(file)
                if metadata.num_rows:
                    known.setdefault(metadata.row_group(0).column(0).statistics.min, []).append(file)
        return known

    def holding(self, scans: Collection[str], topic: str, hashes: Longs) -> Ancestry:
        """Return where scans have kept records of the source with these hashes: of several, the first.

        :param hashes: rising
        """
        found = Ancestry.unknown(len(hashes))
        folders = [self._folder(name, "source") for name in scans]
        if not folders or not len(hashes):
            return found
        wanted = self.session.createDataFrame(pa.table({"hash": hashes}))
        if len(hashes) <= _MOST_SENT_TO_ALL:
            wanted = f.broadcast(wanted)
        first = f.min(f.struct("partition", "offset")).alias("first")
        kept = self.session.read.parquet(*folders).where(f.col("topic") == topic).join(wanted, "hash")
        table = kept.groupBy("hash").agg(first).select("hash", "first.partition", "first.offset").toArrow()
        rows = np.searchsorted(hashes, _longs(table["hash"]))
        found.put(rows, _longs(table["partition"]), _longs(table["offset"]))
        return found

    def newest_of_keys(
        self, side: FlowEnd, scans: Collection[str], place: TopicPartition, keys: Collection[int]
    ) -> dict[int, tuple[int, bool]]:
        """Return the newest record of each of these keys that scans have kept: its offset, and whether it deletes.

        :param keys: what stands for them, without the mark of what deletes
        """
        folders = [self._folder(name, side) for name in scans]
        if not folders or not keys:
            return {}
        wanted = self.session.createDataFrame([(each,) for each in keys], "plain long")
        kept = self.session.read.parquet(*folders).where(
            (f.col("topic") == place.topic) & (f.col("partition") == place.partition) & f.col("key").isNotNull()
        )
        found = kept.withColumn("plain", f.shiftright("key", 1)).join(f.broadcast(wanted), "plain").groupBy("plain")
        rows = found.agg(f.max("offset"), f.max_by("key", "offset")).collect()
        return {row[0]: (row[1], bool(row[2] & 1)) for row in rows}

    def bytes_of(self, name: str) -> int:
        """Return how much room a scan takes, in bytes; 0 where it is not on this machine."""
        folder = Path(f"{self.uri}/{name}".removeprefix("file://"))
        return sum(file.stat().st_size for file in folder.rglob("*.parquet"))

    def exists(self, name: str, side: FlowEnd) -> bool:
        """Whether a scan has kept anything of a side."""
        path = self._path(self._folder(name, side))
        return bool(path.getFileSystem(self._configuration).exists(path))

    def names(self) -> list[str]:
        """Return the names of all scans that there are, also of those that no state names."""
        return self.names_in(self.uri)

    def names_in(self, uri: str) -> list[str]:
        """Return the names of what lies in a folder; nothing where there is none."""
        path = self._path(uri if "://" in uri else f"file://{uri}")
        files = path.getFileSystem(self._configuration)
        return sorted(each.getPath().getName() for each in files.listStatus(path)) if files.exists(path) else []

    def remove(self, name: str) -> None:
        """Remove a scan."""
        self.remove_file(f"{self.uri}/{name}")

    def remove_file(self, uri: str) -> None:
        """Remove a file or folder, if it is there."""
        path = self._path(uri if "://" in uri else f"file://{uri}")
        path.getFileSystem(self._configuration).delete(path, True)

    def _folder(self, name: str, side: FlowEnd) -> str:
        return f"{self.uri}/{name}/{side}"

    def _path(self, uri: str) -> Any:
        return self.session._jvm.org.apache.hadoop.fs.Path(uri)  # type: ignore[union-attr]

    @property
    def _configuration(self) -> Any:
        return self.session._jsparkSession.sessionState().newHadoopConf()


def _by_topic(values: Mapping[TopicPartition, int], kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for partition, value in sorted(values.items()):
        if kind is list:
            found.setdefault(partition.topic, []).append(value)
        else:
            found.setdefault(partition.topic, {})[str(partition.partition)] = value
    return found


def read_file(path: Path) -> list[tuple[TopicPartition, Fingerprints]]:
    """Read a file of the log. Mostly a task reads one partition, and then the numbers alone have to be read."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    places = {_place(group) for group in groups}
    place = places.pop() if len(places) == 1 else None
    if place is None:
        return _split(pq.read_table(path, partitioning=None))
    keyed = all(_nulls(group.column(_COLUMNS.index("key"))) == 0 for group in groups)
    table = pq.read_table(path, partitioning=None, columns=[*_NUMBERS, *(["key"] if keyed else [])])
    return [(place, Fingerprints(*(_longs(column) for column in table.columns)))]


def _holds_stamped(path: Path) -> bool:
    """Return whether a file holds a record that its broker stamped; its metadata say so."""
    metadata = pq.read_metadata(path)
    columns = (
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    )
    said = [column.statistics for column in columns if column.path_in_schema == "stamped"]
    return any(each is None or not each.has_min_max or bool(each.max) for each in said)


def _place(group: pq.RowGroupMetaData) -> TopicPartition | None:
    """Return the partition that all rows of a group are of, if that is certain."""
    found = []
    for column in (group.column(0), group.column(1)):
        statistics = column.statistics
        if statistics is None or not statistics.has_min_max or _nulls(column) != 0 or statistics.min != statistics.max:
            return None
        found.append(statistics.min)
    return TopicPartition(*found)


def _nulls(column: pq.ColumnChunkMetaData) -> int | None:
    """Return how many values are missing; ``None`` where the file does not say."""
    statistics = column.statistics
    return statistics.null_count if statistics is not None and statistics.has_null_count else None


def collected(
    kept: DataFrame, *, most_in_memory: int = MOST_IN_MEMORY, at_once: int = _AT_ONCE
) -> dict[TopicPartition, Fingerprints]:
    """Return what lies where only Spark reaches; of much, one stretch of one partition after the other.

    :param most_in_memory: records; of more each log lies in files
    :param at_once: offsets of a stretch
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
    """Read files one by one into arrays that lie in files themselves: memory is bounded, whatever the volume.

    :param files: of one topic each, a stretch of one partition in each
    """
    stretches: dict[TopicPartition, list[tuple[int, int, Path]]] = defaultdict(list)
    for path in files:
        metadata = pq.read_metadata(path)
        topic, number, offset = (metadata.row_group(0).column(column).statistics.min for column in range(3))
        stretches[TopicPartition(topic, number)].append((offset, metadata.num_rows, path))
    return {partition: _spooled(sorted(found)) for partition, found in stretches.items()}


def _spooled(stretches: Sequence[tuple[int, int, Path]]) -> Fingerprints:
    spool = Spool(sum(rows for _, rows, _ in stretches))
    for _, _, path in stretches:
        for _, log in read_file(path):
            spool.add(log)
    return spool.log()


def _split(table: pa.Table) -> list[tuple[TopicPartition, Fingerprints]]:
    """Split what was read by partition."""
    topics, numbers = table["topic"].combine_chunks(), table["partition"].to_numpy()
    offsets, timestamps, hashes = (_longs(table[name]) for name in ("offset", "timestamp", "hash"))
    all_keys = None if table["key"].null_count else _longs(table["key"])
    codes = topics.dictionary_encode()
    whole = np.asarray(codes.indices) * (int(numbers.max(initial=0)) + 1) + numbers
    found = []
    for code in np.unique(whole):
        rows = slice(None) if (whole == code).all() else np.flatnonzero(whole == code)
        place = int(np.flatnonzero(whole == code)[0])
        keys = None if all_keys is None else all_keys[rows]
        log = Fingerprints(offsets[rows], timestamps[rows], hashes[rows], keys)
        found.append((TopicPartition(str(topics[place]), int(numbers[place])), log.rising()))
    return found


def _longs(column: pa.ChunkedArray) -> Longs:
    values: Longs = column.to_numpy().astype(np.int64, copy=False)
    return values
