"""Audits: whether the copy is equal, record by record, and up to where that is known."""

from __future__ import annotations

from kafka_dr.audit.comparison import Comparison, Entry, compare
from kafka_dr.audit.finding import Finding, FindingKind, Frontier, Start, Verified
from kafka_dr.audit.fingerprint import fingerprint
from kafka_dr.audit.plain_frontier import PlainFrontier
from kafka_dr.audit.store import FileFrontierStore

__all__ = [
    "Frontier",
    "PlainFrontier",
    "Start",
    "Verified",
    "Finding",
    "FindingKind",
    "FileFrontierStore",
    "Comparison",
    "Entry",
    "compare",
    "fingerprint",
]
