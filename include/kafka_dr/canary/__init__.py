"""Numbered records that show whether, when and in which order a flow replicates records."""

from __future__ import annotations

from kafka_dr.canary.record import (
    ORIGIN_DC,
    ORIGIN_PRODUCER,
    ORIGIN_TIMESTAMP,
    Canary,
    CanaryFlow,
    SeenCanary,
    SentCanary,
    next_canary,
)
from kafka_dr.canary.verdict import CanaryOutcome, CanaryVerdict, PartitionVerdict, judge

__all__ = [
    "judge",
    "next_canary",
    "Canary",
    "CanaryFlow",
    "SentCanary",
    "SeenCanary",
    "CanaryOutcome",
    "PartitionVerdict",
    "CanaryVerdict",
    "ORIGIN_DC",
    "ORIGIN_TIMESTAMP",
    "ORIGIN_PRODUCER",
]
