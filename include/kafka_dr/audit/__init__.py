"""Audits: whether a copy is equal, record by record, and up to which offset that is known."""

from __future__ import annotations

from kafka_dr.audit.circumstances import may_still_come
from kafka_dr.audit.compacted_walk import CompactedWalk, KeyedEntry
from kafka_dr.audit.compaction import CLEANUP, compacted_topics, compacts
from kafka_dr.audit.copies import (
    STAMPING,
    Entry,
    are_timeless,
    comparable,
    fingerprint,
    is_copy,
    stamped_topics,
    times_count,
    times_lost,
    times_missing,
)
from kafka_dr.audit.finding import FindingKind, FirstDifference, Frontier, Verified
from kafka_dr.audit.gate import GateAnswer, GateVerdict
from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable
from kafka_dr.audit.walk import PartitionWalk, Walk

__all__ = [
    "STAMPING",
    "CLEANUP",
    "compacted_topics",
    "compacts",
    "Frontier",
    "Verified",
    "FirstDifference",
    "FindingKind",
    "FileFrontierStore",
    "KeptFrontier",
    "FrontierPoint",
    "PartitionWalk",
    "Walk",
    "CompactedWalk",
    "KeyedEntry",
    "Entry",
    "are_timeless",
    "comparable",
    "is_copy",
    "stamped_topics",
    "times_count",
    "times_lost",
    "times_missing",
    "fingerprint",
    "may_still_come",
    "AuditKind",
    "AuditResult",
    "AuditVerdict",
    "ResultStore",
    "ResultUnreadable",
    "GateAnswer",
    "GateVerdict",
]
