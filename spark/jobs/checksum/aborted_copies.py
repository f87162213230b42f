"""Looks whether what seems foreign on the target was copied from transactions that were aborted.

Only somebody else's replicator may copy such records: this project's flows read committed records alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copy_audit.aborted import foreign_hashes, with_aborted
from copy_audit.fingerprints import Longs
from copy_audit.partitions import PartitionLogs, PartitionOutcome
from jobs.fingerprint_log import FingerprintLog
from kafka_dr.clusters import ClientSettings, OffsetRange, TopicPartition
from kafka_dr_spark.fingerprints import Special

#: Foreign records of a topic that are looked for; if there are more, the others stay foreign.
_MOST = 1_000_000


def aborted_named(
    log: FingerprintLog,
    topic: str,
    compared: tuple[Sequence[PartitionLogs], Sequence[PartitionOutcome]],
    *,
    source: ClientSettings,
    special: Special,
) -> list[PartitionOutcome]:
    """Return the outcomes of a topic with copies of aborted records named.

    The source is read a second time, uncommitted, only where there are foreign records, and offsets without a record.

    :param compared: what was compared of each partition, and what was found
    :param source: how the source is reached
    """
    logs = {TopicPartition(topic, each.partition): each for each in compared[0]}
    outcomes = {TopicPartition(topic, each.partition): each for each in compared[1]}
    wanted: dict[TopicPartition, Longs] = {}
    left = _MOST
    for partition, outcome in outcomes.items():
        if _has_holes(logs[partition]):
            wanted[partition] = foreign_hashes(outcome, logs[partition].target, left)
            left -= len(wanted[partition])
    wanted = {partition: hashes for partition, hashes in wanted.items() if len(hashes)}
    if not wanted:
        return list(compared[1])
    ranges = {p: OffsetRange(logs[p].source_range.start, logs[p].source_range.end) for p in wanted}
    found = log.uncommitted(source, ranges, special, np.unique(np.concatenate(list(wanted.values()))))
    for partition, (offsets, hashes) in found.items():
        committed = logs[partition].source
        aborted = hashes[committed.index_of(offsets) == committed.index_of(offsets + 1)]
        outcomes[partition] = with_aborted(outcomes[partition], logs[partition].target, aborted)
    return list(outcomes.values())


def _has_holes(logs: PartitionLogs) -> bool:
    return len(logs.source) < logs.source_range.end - logs.source_range.start
