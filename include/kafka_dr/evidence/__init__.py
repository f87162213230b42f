"""What each step saw, kept so that it can be trusted and read a year later."""

from __future__ import annotations

from kafka_dr.evidence.audit_story import AuditStory, tell_audit, tell_stranded
from kafka_dr.evidence.bundle import Bundle, EvidenceChanged, FileDigest, Verification
from kafka_dr.evidence.canonical import NotCanonical, canonical, digest
from kafka_dr.evidence.ending import NOT_BACK, NOTHING, UNFINISHED, Ending, ending
from kafka_dr.evidence.page import render_audit, render_notice
from kafka_dr.evidence.place import Place
from kafka_dr.evidence.promises import Promise, promises
from kafka_dr.evidence.secrets import KnownSecrets, SecretInEvidence
from kafka_dr.evidence.store import (
    EvidenceRef,
    EvidenceStore,
    EvidenceUnfinished,
    EvidenceUnwritable,
    UnusableName,
)

__all__ = [
    "EvidenceStore",
    "EvidenceRef",
    "Bundle",
    "Verification",
    "FileDigest",
    "Place",
    "KnownSecrets",
    "Ending",
    "ending",
    "NOTHING",
    "NOT_BACK",
    "UNFINISHED",
    "Promise",
    "promises",
    "AuditStory",
    "tell_audit",
    "tell_stranded",
    "render_audit",
    "render_notice",
    "canonical",
    "digest",
    "EvidenceChanged",
    "EvidenceUnfinished",
    "EvidenceUnwritable",
    "NotCanonical",
    "SecretInEvidence",
    "UnusableName",
]
