"""Lag: how far a flow and the consumer groups are behind, and whether they get on. Rules alone."""

from __future__ import annotations

from kafka_dr.lag.assessment import Assessment, GroupSeen, Look, PartitionSeen, assess
from kafka_dr.lag.findings import LagFinding, LagFindingKind, Limits, find
from kafka_dr.lag.latency import Latency
from kafka_dr.lag.report import Subject, behind_seconds, report
from kafka_dr.lag.retention import Retention
from kafka_dr.lag.unread import Content, Stretch, cut
from kafka_dr.lag.verdict import LagVerdict, Sample, judge
from kafka_dr.lag.window import Series, Window, WindowStore, WindowUnreadable

__all__ = [
    "assess",
    "Assessment",
    "PartitionSeen",
    "GroupSeen",
    "Look",
    "find",
    "LagFinding",
    "LagFindingKind",
    "Limits",
    "report",
    "behind_seconds",
    "Subject",
    "judge",
    "LagVerdict",
    "Sample",
    "cut",
    "Stretch",
    "Content",
    "Latency",
    "Retention",
    "Series",
    "Window",
    "WindowStore",
    "WindowUnreadable",
]
