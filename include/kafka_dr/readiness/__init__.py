"""Whether each verb could be used on a group now: judged from stored results alone, so it never waits for a cluster."""

from __future__ import annotations

from kafka_dr.readiness.judge import GroupReadiness, judged, readiness_now
from kafka_dr.readiness.model import Answer, ReadinessCheck, ReadinessUnreadable, ReadyVerb, VerbReadiness

__all__ = [
    "Answer",
    "GroupReadiness",
    "ReadinessCheck",
    "ReadinessUnreadable",
    "ReadyVerb",
    "VerbReadiness",
    "judged",
    "readiness_now",
]
