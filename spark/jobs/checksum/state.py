"""What one checksum audit leaves for the next: how far it was verified, and which scans of the log are still needed.

One JSON file, replaced as a whole. It names the scans that count, so what an audit that died has left is never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka_dr.audit.coverage import Coverage
from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import StoredDocument, stored
from kafka_dr.errors import NeedsPerson
from kafka_dr.json_documents import DocumentDamaged, JsonFile

_SCHEMA_VERSION = 1
#: On the source and on the target.
Both = tuple[int, int]
#: The offset, the timestamp in milliseconds since the epoch, and the hash of the content.
MissingRecord = tuple[int, int, int]
#: Of a topic's fingerprints: whether keys are kept, and whether times are part of the hash.
Kind = tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """How far a partition is settled. All offsets are next to read.

    :param resume: where the next comparison begins
    :param scanned: the end of what the fingerprint log holds
    :param first_kept: the log start offsets when the logs were read for the first time
    :param coverage: of the source's offsets below ``resume``
    :param open: settled findings below ``resume``: how many records, by kind
    :param faulty_from: the first offset of the source with a finding, and what is next on the target at that record
    :param faulty_since: the timestamp of that record, milliseconds since the epoch; ``None`` if it is not known
    :param begun: the scan with which comparing began, or began again: older scans say nothing about it; empty if it is
        not known
    :param from_start: whether that scan read everything that both clusters had
    :param held: on the source and on the target, the offset from which an open transaction hides the log, and when that
        was first seen, in milliseconds since the epoch
    :param missing: records of the source that are reported lost and have not come
    """

    resume: Both = (0, 0)
    scanned: Both = (0, 0)
    first_kept: Both = (0, 0)
    coverage: Coverage = field(default_factory=Coverage)
    open: Mapping[str, int] = field(default_factory=dict)
    faulty_from: Both | None = None
    faulty_since: int | None = None
    held: tuple[Both | None, Both | None] = (None, None)
    begun: str = ""
    from_start: bool = False
    missing: tuple[MissingRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """One scan that counts, and what it read of each partition: ``((start, end), (start, end))``, source and target."""

    name: str
    at: datetime
    ranges: Mapping[TopicPartition, tuple[Both, Both]]


@dataclass(frozen=True, slots=True)
class AwaitedEnds:
    """Where a topic of the source ended when an audit asked: what is below is to be verified.

    :param at: when that was, aware
    :param ends: next after the last acknowledged record, by partition
    """

    at: datetime
    ends: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AuditState(StoredDocument):
    """The state of one flow.

    :param identity: cluster ids of source and target, and the epoch; if one of them changes, the audit begins again
    :param topic_ids: on the source and on the target; empty if the topic does not exist
    :param kinds: how the topics' fingerprints were made the last time: with keys, and with timestamps
    :param complete: by topic, up to when everything that the source had is verified on the target
    :param awaited: by topic, what has to be verified before that time moves on
    :param maps: the parts of the offset map that count
    """

    identity: tuple[str, str, int]
    topic_ids: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    scans: tuple[Scan, ...] = ()
    maps: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    complete: Mapping[str, datetime] = field(default_factory=dict, metadata=stored(omitted=True))
    awaited: Mapping[str, AwaitedEnds] = field(default_factory=dict, metadata=stored(omitted=True))

    def scans_of(self, partition: TopicPartition) -> tuple[Scan, ...]:
        """Return the scans that hold what was compared of a partition since comparing began."""
        return self.scans[self._first_scan(partition) :]

    def slimmed(self) -> AuditState:
        """Return the same without the ranges that no audit will need again."""

        def needed(number: int, partition: TopicPartition, ranges: tuple[Both, Both]) -> bool:
            known = self.partitions.get(partition)
            # Scans from before comparing began again do not count, whatever their offsets.
            if known is None or number < self._first_scan(partition):
                return False
            return any(r[1] > at for r, at in zip(ranges, known.resume, strict=True))

        scans = (
            replace(scan, ranges={p: r for p, r in scan.ranges.items() if needed(number, p, r)})
            for number, scan in enumerate(self.scans)
        )
        return replace(self, scans=tuple(scans))

    def _first_scan(self, partition: TopicPartition) -> int:
        known = self.partitions.get(partition)
        begun = (n for n, scan in enumerate(self.scans) if known is not None and scan.name == known.begun)
        return next(begun, 0)


class StateStore:
    """Keeps the state of one flow.

    :param folder: of the flow's checksum audits, below the evidence root
    """

    def __init__(self, folder: Any) -> None:
        self._file = JsonFile.of(AuditState, folder.joinpath("state.json"), _SCHEMA_VERSION)

    def read(self) -> AuditState | None:
        """Return the state; ``None`` if none was kept.

        :raises NeedsPerson: the file is damaged
        """
        try:
            return self._file.read()
        except DocumentDamaged as error:
            raise NeedsPerson(
                f"{error}. What was verified is not known: find out what changed it, move it away, then audit in full"
            ) from error

    def write(self, state: AuditState) -> None:
        """Replace the state."""
        self._file.write(state.slimmed())
