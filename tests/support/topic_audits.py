"""The audit of a topic in memory: source and target as fingerprints, without brokers and without Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import Parts, Payload, PayloadOf
from kafka_dr.audit.difference import Difference, Suspects
from support.faulty_copy import FaultyCopy, Known, Written

OLD = 2**60  # everything is older than this: nothing may still come


def log_of(records: Sequence[Written]) -> Fingerprints:
    return Fingerprints(
        np.array([r.offset for r in records], np.int64),
        np.array([r.payload.timestamp for r in records], np.int64),
        np.array([hash_of(r.payload) for r in records], np.int64),
    )


def hash_of(payload: Payload) -> int:
    return int.from_bytes(hashlib.blake2b(repr(payload).encode(), digest_size=8).digest(), "big", signed=True)


def end_of(records: Sequence[Written]) -> int:
    return records[-1].offset + 1 if records else 0


def outside(copy: FaultyCopy) -> AuditLookups:
    def payloads(_suspects: Sequence[Suspects]) -> tuple[PayloadOf, PayloadOf]:
        here = {(p, r.offset): r.payload for p, records in copy.source.items() for r in records}
        there = {(p, r.offset): r.payload for p, records in copy.target.items() for r in records}

        def looking(at: dict[tuple[int, int], Payload]) -> PayloadOf:
            return lambda record: Parts.of(at[record.partition, record.offset])

        return looking(here), looking(there)

    return AuditLookups(payloads, nowhere)


def audited(
    copy: FaultyCopy,
    *,
    young_from: int = OLD,
    position: int | None = None,
    late_before: int = -OLD,
    seen_below: int = 0,
) -> list[PartitionOutcome]:
    logs = [
        PartitionLogs(
            partition,
            log_of(records),
            log_of(copy.target[partition]),
            ComparedRange(0, end_of(records)),
            ComparedRange(0, end_of(copy.target[partition])),
            position=position,
            seen_below=seen_below,
        )
        for partition, records in copy.source.items()
    ]
    return audit_topic(logs, compacted=False, young_from=young_from, lookups=outside(copy), late_before=late_before)


def found(outcomes: Sequence[PartitionOutcome]) -> list[Known]:
    differences: list[Difference] = [d for outcome in outcomes for d in (*outcome.settled, *outcome.waiting)]
    return sorted(Known(d.kind, d.partition, d.source_offset, d.target_offset, d.count) for d in differences)
