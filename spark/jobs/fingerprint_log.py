"""The fingerprint log: what was read of Kafka, as Parquet below the evidence root, a folder for each scan and cluster.

A scan counts once the state names it; what an audit that died has written is never read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from copy_audit.fingerprints import MOST_IN_MEMORY, Fingerprints, Longs
from copy_audit.unmatched import Ancestry
from jobs.log_files import collected, holds_stamped, holds_untimed, longs, read_file, spooled
from jobs.records_in_memory import in_memory
from kafka_dr.audit.copies import NO_TIMESTAMP
from kafka_dr.clusters import ClientSettings, OffsetRange, Record, TopicPartition
from kafka_dr.parallel import ask_all
from kafka_dr_spark.fingerprints import WRITE_OPTIONS, Special, fingerprints
from kafka_dr_spark.renamed_topics import renamed

FlowEnd = Literal["source", "target"]
FLOW_ENDS: tuple[FlowEnd, FlowEnd] = ("source", "target")
#: Up to this many hashes, each task is given all of them.
_MOST_SENT_TO_ALL = 1_000_000
#: How much a fetch may return. The source's defaults are made for streams with few records.
READING = {
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 * 1024**2),
    "kafka.fetch.max.bytes": str(32 * 1024**2),
    "kafka.receive.buffer.bytes": str(1024**2),
    "kafkaConsumer.pollTimeoutMs": "20000",
    "groupIdPrefix": "dr-audit",
    "includeHeaders": "true",
    # Long ranges are read by several tasks, and no file of the log becomes too large for memory.
    "maxRecordsPerPartition": "5000000",
    # Records that were deleted meanwhile are noticed by the log start offset, which is asked again afterwards.
    "failOnDataLoss": "false",
}


@dataclass(frozen=True, slots=True)
class SeenTimes:
    """Topics with records that have no time of their own.

    :param stamped: topics with records that their broker stamped
    :param untimed: topics with records that have no timestamp
    """

    stamped: frozenset[str]
    untimed: frozenset[str]

    def without(self, topic: str) -> SeenTimes:
        """Return the same without a topic."""
        return SeenTimes(self.stamped - {topic}, self.untimed - {topic})


@dataclass(frozen=True, slots=True)
class FingerprintLog:
    """The log of one flow.

    :param uri: its folder, as Spark names it
    """

    session: SparkSession
    uri: str
    _files: dict[str, dict[str, dict[Path, int]]] = field(default_factory=dict, repr=False)

    def scan(
        self,
        name: str,
        *,
        settings: Mapping[FlowEnd, ClientSettings],
        ranges: Mapping[FlowEnd, Mapping[TopicPartition, OffsetRange]],
        special: Special,
        copies: Mapping[str, str] | None = None,
        more: Mapping[FlowEnd, Sequence[Record]] | None = None,
    ) -> None:
        """Read the ranges of both clusters at the same time, each once, and keep their fingerprints.

        :param ranges: topics have the names of the source on both clusters
        :param copies: by topic, what its copy is called on the target, where that is another name
        :param more: records of no cluster that are kept with them
        """
        names: dict[FlowEnd, Mapping[str, str]] = {"source": {}, "target": copies or {}}

        def scan(end: FlowEnd) -> None:
            records = self._read(settings[end], ranges[end], names[end])
            if made := (more or {}).get(end):
                own = in_memory(self.session, made)
                records = own if records is None else records.select(own.columns).unionAll(own)
            if records is None:
                return
            writer = fingerprints(records, special).write.mode("overwrite").options(**WRITE_OPTIONS)
            writer.parquet(self.folder(name, end))
            self._files.pop(str(Path(self.folder(name, end).removeprefix("file://"))), None)

        ask_all(scan, settings)

    def uncommitted(
        self,
        settings: ClientSettings,
        ranges: Mapping[TopicPartition, OffsetRange],
        special: Special,
        hashes: Longs,
    ) -> dict[TopicPartition, tuple[Longs, Longs]]:
        """Return offsets and hashes of the source's records with these hashes, also of those that were not committed.

        :param hashes: rising; few enough that each task is given all of them
        """
        records = self._read(settings, ranges, {}, isolation="read_uncommitted")
        if records is None or not len(hashes):
            return {}
        wanted = f.broadcast(self.session.createDataFrame(pa.table({"hash": hashes})))
        kept = fingerprints(records, special).join(wanted, "hash").select("topic", "partition", "offset", "hash")
        table = kept.toArrow()
        topics, numbers = np.array(table["topic"].to_pylist(), object), table["partition"].to_numpy()
        offsets, found = longs(table["offset"]), longs(table["hash"])
        rows = {p: np.flatnonzero((topics == p.topic) & (numbers == p.partition)) for p in ranges}
        return {p: (offsets[each], found[each]) for p, each in rows.items() if len(each)}

    def _read(
        self,
        settings: ClientSettings,
        ranges: Mapping[TopicPartition, OffsetRange],
        names: Mapping[str, str],
        *,
        isolation: str = "read_committed",
    ) -> DataFrame | None:
        """Return the records of ranges; ``None`` if all of them are empty.

        :param names: by topic, its name on this cluster, where that is another one
        """
        wanted = {TopicPartition(names.get(p.topic, p.topic), p.partition): r for p, r in ranges.items() if len(r)}
        if not wanted:
            return None
        options = {
            **settings.spark(),
            **READING,
            "kafka.isolation.level": isolation,
            "assign": json.dumps(_by_topic({p: p.partition for p in wanted}, list)),
            "startingOffsets": json.dumps(_by_topic({p: r.start for p, r in wanted.items()}, dict)),
            "endingOffsets": json.dumps(_by_topic({p: r.end for p, r in wanted.items()}, dict)),
        }
        records = self.session.read.format("kafka").options(**options).load()
        return renamed(records, names) if names else records

    def times(self, name: str, end: FlowEnd) -> SeenTimes:
        """Return the topics of which a scan has read records that have no time of their own."""
        if not self.exists(name, end):
            return SeenTimes(frozenset(), frozenset())
        folder = self.folder(name, end)
        if folder.startswith("file://"):
            files = self._files_of(Path(folder.removeprefix("file://")))
            return SeenTimes(
                *(
                    frozenset(topic for topic, found in files.items() if any(map(holds, found)))
                    for holds in (holds_stamped, holds_untimed)
                )
            )
        kept = self.session.read.parquet(folder)
        return SeenTimes(
            *(
                frozenset(row.topic for row in kept.where(some).select("topic").distinct().collect())
                for some in (f.col("stamped"), f.col("timestamp") == NO_TIMESTAMP)
            )
        )

    def read(self, end: FlowEnd, scans: Collection[str], topics: Collection[str]) -> dict[TopicPartition, Fingerprints]:
        """Return what scans hold of some topics."""
        parts: dict[TopicPartition, list[Fingerprints]] = defaultdict(list)
        if self._is_local:
            files, rows = self._local_files(end, scans, topics)
            if rows > MOST_IN_MEMORY:
                return spooled(files)
            for found in ask_all(read_file, files, at_most=4).values():
                for partition, log in found:
                    if partition.topic in topics:
                        parts[partition].append(log)
            return {partition: Fingerprints.joined(logs) for partition, logs in parts.items()}
        folders = [self.folder(name, end) for name in scans]
        return collected(self.session.read.parquet(*folders).where(f.col("topic").isin(list(topics))))

    @property
    def _is_local(self) -> bool:
        return self.uri.startswith("file://")

    def rows(self, end: FlowEnd, scans: Collection[str], topic: str) -> int:
        """Return about how many records scans hold of a topic."""
        if self._is_local:
            return self._local_files(end, scans, [topic])[1]
        folders = [self.folder(name, end) for name in scans]
        return self.session.read.parquet(*folders).where(f.col("topic") == topic).count() if folders else 0

    def _local_files(self, end: FlowEnd, scans: Collection[str], topics: Collection[str]) -> tuple[list[Path], int]:
        folders = [Path(self.folder(name, end).removeprefix("file://")) for name in scans]
        found = [self._files_of(folder).get(topic, {}) for folder in folders for topic in topics]
        return [path for files in found for path in files], sum(sum(files.values()) for files in found)

    def _files_of(self, folder: Path) -> dict[str, dict[Path, int]]:
        """Return the files of a folder by topic, and how many records each has.

        Each file holds a range of one partition, read by one task.
        """
        known = self._files.get(str(folder))
        if known is None:
            known = self._files[str(folder)] = {}
            for file in sorted(folder.glob("*.parquet")):
                metadata = pq.read_metadata(file)
                if metadata.num_rows:
                    known.setdefault(metadata.row_group(0).column(0).statistics.min, {})[file] = metadata.num_rows
        return known

    def holding(self, scans: Collection[str], topic: str, hashes: Longs) -> Ancestry:
        """Return the records of the source with these hashes in scans: of several, the first.

        :param hashes: rising
        """
        found = Ancestry.unknown(len(hashes))
        folders = [self.folder(name, "source") for name in scans]
        if not folders or not len(hashes):
            return found
        wanted = self.session.createDataFrame(pa.table({"hash": hashes}))
        if len(hashes) <= _MOST_SENT_TO_ALL:
            wanted = f.broadcast(wanted)
        first = f.min(f.struct("partition", "offset")).alias("first")
        kept = self.session.read.parquet(*folders).where(f.col("topic") == topic).join(wanted, "hash")
        table = kept.groupBy("hash").agg(first).select("hash", "first.partition", "first.offset").toArrow()
        rows = np.searchsorted(hashes, longs(table["hash"]))
        found.put(rows, longs(table["partition"]), longs(table["offset"]))
        return found

    def newest_of_keys(
        self, end: FlowEnd, scans: Collection[str], partition: TopicPartition, keys: Collection[int]
    ) -> dict[int, tuple[int, bool]]:
        """Return the newest record of each of these keys in scans: its offset, and whether it deletes the key.

        :param keys: numbers for the keys, without the bit that marks a deletion
        """
        folders = [self.folder(name, end) for name in scans]
        if not folders or not keys:
            return {}
        wanted = self.session.createDataFrame([(each,) for each in keys], "plain long")
        kept = self.session.read.parquet(*folders).where(
            (f.col("topic") == partition.topic) & (f.col("partition") == partition.partition) & f.col("key").isNotNull()
        )
        found = kept.withColumn("plain", f.shiftright("key", 1)).join(f.broadcast(wanted), "plain").groupBy("plain")
        rows = found.agg(f.max("offset"), f.max_by("key", "offset")).collect()
        return {row[0]: (row[1], bool(row[2] & 1)) for row in rows}

    def bytes_of(self, name: str) -> int:
        """Return the size of a scan in bytes; 0 if it is not on this machine."""
        folder = Path(f"{self.uri}/{name}".removeprefix("file://"))
        return sum(file.stat().st_size for file in folder.rglob("*.parquet"))

    def exists(self, name: str, end: FlowEnd) -> bool:
        """Whether a scan holds anything of a cluster."""
        path = self._path(self.folder(name, end))
        return bool(path.getFileSystem(self._configuration).exists(path))

    def names(self) -> list[str]:
        """Return the names of all scans, also of those that no state names."""
        return self.names_in(self.uri)

    def names_in(self, uri: str) -> list[str]:
        """Return the names of the files in a folder; none if it does not exist."""
        path = self._path(uri if "://" in uri else f"file://{uri}")
        files = path.getFileSystem(self._configuration)
        return sorted(each.getPath().getName() for each in files.listStatus(path)) if files.exists(path) else []

    def remove(self, name: str) -> None:
        """Remove a scan."""
        self.remove_file(f"{self.uri}/{name}")

    def remove_file(self, uri: str) -> None:
        """Remove a file or folder, if it exists."""
        path = self._path(uri if "://" in uri else f"file://{uri}")
        path.getFileSystem(self._configuration).delete(path, True)

    def folder(self, name: str, end: FlowEnd) -> str:
        """Return the folder of what a scan has read of a cluster."""
        return f"{self.uri}/{name}/{end}"

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
