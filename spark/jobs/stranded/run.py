"""Reads both clusters once, aligns them, and keeps whole every record of the old cluster that is stranded."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from copy_audit.fingerprints import Fingerprints
from copy_audit.stranding import Stranding, StrandingInput, strand, without_held
from jobs.fingerprint_log import FingerprintLog, FlowEnd
from jobs.stranded.plan import Arriving, StrandedPartitionPlan, StrandedPlan
from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.erasure import Erasure
from kafka_dr.audit.stranded import ENCRYPTED_VERSION, HeldElsewhere, StrandedFile, StrandedList, StrandedPartition
from kafka_dr.clock import Stopwatch
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster, RenamedCluster
from kafka_dr.errors import TryAgain
from kafka_dr_spark.encrypted_records import decrypted, encrypted, key_relation
from kafka_dr_spark.fingerprints import Special
from kafka_dr_spark.kafka_ranges import read_ranges
from kafka_dr_spark.stranded_records import (
    counted,
    keys_written,
    late,
    measured,
    whole,
    within,
    without_erased,
)

_NOTHING = Fingerprints.joined([])
#: What Spark counts of what is kept, by the names of the fields of a partition.
_OF_KEPT = ("keys", "size", "oldest_ms", "newest_ms")
_OF_LATE = ("written_since", "outdated")


def find(
    session: SparkSession,
    planned: StrandedPlan,
    old: KafkaCluster,
    new: FlowCluster,
    *,
    uri: str,
    watch: Stopwatch,
    erasures: Sequence[Erasure] = (),
    keys: ContentKeys | None = None,
) -> StrandedList:
    """Find the stranded records and keep them.

    :param uri: the list's folder, as Spark names it
    :param erasures: what was erased from former lists of the same run: it is not kept again
    :param keys: encrypt the content; it is kept in the clear if ``None``
    :raises TryAgain: not all that was found could be read again
    """
    name = f"{planned.at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    log = FingerprintLog(session, f"{uri}/scans")
    try:
        found, elsewhere = _align(log, name, planned, old, new)
    finally:
        log.remove(name)
    watch.lap("compare")
    was_active = planned.abandoned_group.abandonment.was_active
    partitions = [_row(p, planned.partitions[p], found[p], was_active) for p in sorted(planned.partitions)]
    folder = f"records-{name}"
    files: tuple[StrandedFile, ...] = ()
    encryption = keys.new() if keys is not None else None
    if any(each.records for each in partitions):
        left_by = planned.abandoned_group.abandonment.name
        records = _wanted(session, partitions, old)
        if erasures:
            about = [(e.topic, e.key_sha256) for e in erasures]
            records = without_erased(records, left_by=left_by, erasures=about)
        key = key_relation(session, keys.content_key(encryption)) if keys is not None and encryption else None
        opened = _keep(session, records, f"{uri}/{folder}", key=key)
        partitions = _measured(partitions, counted(opened))
        if planned.arriving is not None and isinstance(new, RenamedCluster):
            partitions = _with(partitions, _late(session, opened, planned.arriving, new.plain, partitions, key=key))
        files = _files(session, f"{uri}/{folder}", below=folder)
    watch.lap("keep")
    found_list = replace(planned.as_list(partitions), files=files, seconds=watch.total(), elsewhere=elsewhere)
    if encryption is None:
        return found_list
    return replace(found_list, encryption=encryption, schema_version=ENCRYPTED_VERSION)


def _align(
    log: FingerprintLog, name: str, planned: StrandedPlan, old: KafkaCluster, new: FlowCluster
) -> tuple[dict[TopicPartition, Stranding], tuple[HeldElsewhere, ...]]:
    """Return what is stranded in each partition, and what other standbys hold of it, too, which is left out."""
    ranges: dict[FlowEnd, dict[TopicPartition, OffsetRange]] = {
        "source": {p: each.old for p, each in planned.partitions.items()},
        "target": {p: _of_new(each) for p, each in planned.partitions.items()},
    }
    settings = {"source": old.settings, "target": new.settings}
    restamped = planned.restamped
    while True:
        special = Special(compacted=planned.compacted, restamped=restamped)
        log.scan(name, settings=settings, ranges=ranges, special=special, copies=planned.copies)  # type: ignore[arg-type]
        # Copies from before the setting was changed have the active cluster's timestamps.
        timeless = log.times(name, "target").stamped | log.times(name, "source").untimed
        if timeless <= restamped:
            found = _stranded(log, name, planned)
            rest, elsewhere, more = _without_others(log, name, planned, found, special)
            if more <= restamped:
                return rest, elsewhere
            timeless = more
        restamped |= timeless


def _without_others(
    log: FingerprintLog,
    name: str,
    planned: StrandedPlan,
    found: Mapping[TopicPartition, Stranding],
    special: Special,
) -> tuple[dict[TopicPartition, Stranding], tuple[HeldElsewhere, ...], frozenset[str]]:
    """Leave out what other standbys hold, too.

    :returns: the rest, what was left out, and the topics whose timestamps cannot be compared there
    """
    rest, elsewhere, timeless = dict(found), [], frozenset[str]()
    for other, standby in sorted(planned.others.items()):
        held = {p: span for p, span in standby.held.items() if rest[p].records and span.end > span.start}
        if not held:
            continue
        own = f"{name}-{other}"
        try:
            log.scan(own, settings={"target": standby.cluster.settings}, ranges={"target": held}, special=special)
            timeless |= log.times(own, "target").stamped
            left_out = 0
            for topic in sorted({p.topic for p in held}):
                here, there = log.read("source", [name], [topic]), log.read("target", [own], [topic])
                for p in (p for p in held if p.topic == topic):
                    each = planned.partitions[p]
                    given = StrandingInput(
                        p.partition, here.get(p, _NOTHING), there.get(p, _NOTHING), _NOTHING, begins=each.old.start
                    )
                    fewer = without_held(rest[p], given, compacted=topic in planned.compacted)
                    left_out += rest[p].records - fewer.records
                    rest[p] = fewer
        finally:
            log.remove(own)
        if left_out:
            elsewhere.append(HeldElsewhere(other, left_out, standby.topic_ids))
    return rest, tuple(elsewhere), timeless


def _stranded(log: FingerprintLog, name: str, planned: StrandedPlan) -> dict[TopicPartition, Stranding]:
    found = {}
    for topic in sorted({p.topic for p in planned.partitions}):
        on_old, on_new = (
            log.read(end, [name], [topic]) if log.exists(name, end) else {} for end in ("source", "target")
        )
        for p in (p for p in planned.partitions if p.topic == topic):
            each = planned.partitions[p]
            copies = on_new.get(p, _NOTHING)
            switch = int(np.searchsorted(copies.offsets, each.new.end))
            given = StrandingInput(
                p.partition,
                on_old.get(p, _NOTHING).without(each.quarantined),
                copies.at(np.arange(switch)),
                copies.at(np.arange(switch, len(copies))),
                begins=each.old.start,
                copied_until=each.position,
                expired=each.expired,
                copies_expired=each.copies_expired,
            )
            found[p] = strand(given, compacted=topic in planned.compacted)
    return found


def _of_new(each: StrandedPartitionPlan) -> OffsetRange:
    return OffsetRange(each.new.start, max(each.new.end, each.since.end))


def _row(
    partition: TopicPartition, planned: StrandedPartitionPlan, found: Stranding, was_active: bool
) -> StrandedPartition:
    return StrandedPartition(
        topic=partition.topic,
        partition=partition.partition,
        from_offset=planned.old.start,
        copied_until=min(found.copied_until, planned.old.end),
        end=planned.old.end,
        new_end=planned.new.end,
        records=found.records,
        ranges=found.ranges,
        # What a standby lacks was never copied to it.
        missing=found.missing if was_active else 0,
        expired=found.expired,
    )


def _wanted(session: SparkSession, partitions: list[StrandedPartition], old: KafkaCluster) -> DataFrame:
    """Return what is stranded, read once more, whole."""
    wanted = [each for each in partitions if each.records]
    spans = {(each.topic, each.partition): [(each.ranges[0][0], each.ranges[-1][1])] for each in wanted}
    records = whole(read_ranges(session, old.settings.spark(), spans))
    if any(len(each.ranges) > 1 for each in wanted):
        stretches = [(each.topic, each.partition, *stretch) for each in wanted for stretch in each.ranges]
        records = within(session, records, stretches)
    return records


def _keep(session: SparkSession, records: DataFrame, folder: str, *, key: DataFrame | None) -> DataFrame:
    """Write records, encrypted if there is a key, and return what was written, opened again."""
    written = records if key is None else encrypted(records, key)
    written.write.mode("overwrite").parquet(folder)
    kept = session.read.parquet(folder)
    return measured(kept) if key is None else decrypted(kept, key)


def _late(
    session: SparkSession,
    opened: DataFrame,
    arriving: Arriving,
    active: KafkaCluster,
    partitions: Sequence[StrandedPartition],
    *,
    key: DataFrame | None,
) -> DataFrame:
    """Count what is to be known of kept records before they arrive late."""
    topics = {each.topic for each in partitions if each.records}
    spans = {
        (p.topic, p.partition): [(span.start, span.end)] for p, span in arriving.written.items() if p.topic in topics
    }
    if spans:
        written = keys_written(read_ranges(session, active.settings.spark(), spans), key)
    else:
        written = session.createDataFrame([], opened.select("topic", "key").schema)
    return late(opened, written=written, kept_from_ms=arriving.kept_from_ms)


def _rows_of(found: DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["topic"], row["partition"]): row.asDict() for row in found.collect()}


def _measured(partitions: Sequence[StrandedPartition], found: DataFrame) -> list[StrandedPartition]:
    rows = _rows_of(found)
    return [_counted(each, rows.get((each.topic, each.partition), {})) for each in partitions]


def _with(partitions: Sequence[StrandedPartition], found: DataFrame) -> list[StrandedPartition]:
    """Add what was counted of late records."""
    rows = _rows_of(found)
    return [_filled(each, rows.get((each.topic, each.partition), {}), _OF_LATE) for each in partitions]


def _counted(found: StrandedPartition, row: Mapping[str, Any]) -> StrandedPartition:
    if row.get("records", 0) != found.records:
        raise TryAgain(
            f"{found.topic}-{found.partition}: {found.records} records are stranded, {row.get('records', 0)} could be "
            "read again and kept: raise the topic's retention on the old cluster, and run this again at once"
        )
    return _filled(found, row, _OF_KEPT)


def _filled(found: StrandedPartition, row: Mapping[str, Any], names: Iterable[str]) -> StrandedPartition:
    return replace(found, **{name: row[name] for name in names if name in row})


def _files(session: SparkSession, folder: str, *, below: str) -> tuple[StrandedFile, ...]:
    """Return each file that Spark wrote, with the digest of what can be read of it now.

    :param below: the folder's name in the paths
    """
    path = session._jvm.org.apache.hadoop.fs.Path(folder)  # type: ignore[union-attr]
    system = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    statuses = [status for status in system.listStatus(path) if status.isFile()]
    found = {str(status.getPath().getName()): status for status in statuses if status.getLen()}
    return tuple(
        StrandedFile(f"{below}/{name}", int(found[name].getLen()), _sha256(session, system, found[name].getPath()))
        for name in sorted(found)
        if name.endswith(".parquet")
    )


def _sha256(session: SparkSession, system: Any, path: Any) -> str:
    """Return the digest of a file, computed by the JVM: its bytes never come to Python."""
    stream = system.open(path)
    try:
        return str(session._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))  # type: ignore[union-attr]
    finally:
        stream.close()
