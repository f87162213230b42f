"""Lag of a flow and of consumer groups: how much they have not read, and whether they keep up. Rules alone."""

from __future__ import annotations

from kafka_dr.lag.assessment import Assessment, GroupSeen, HeldRecords, LagLook, Latency, PartitionSeen, assess
from kafka_dr.lag.findings import LagFinding, LagFindingKind, LagLimits, find
from kafka_dr.lag.report import Subject, UnjudgedGroup, behind_seconds, report
from kafka_dr.lag.retention import Retention
from kafka_dr.lag.unread import Stretch, StretchContent, cut
from kafka_dr.lag.verdict import LagVerdict, Sample, judge
from kafka_dr.lag.window import Series, Window, WindowStore, WindowUnreadable

__all__ = [
    "assess",
    "Assessment",
    "PartitionSeen",
    "GroupSeen",
    "HeldRecords",
    "LagLook",
    "find",
    "LagFinding",
    "LagFindingKind",
    "LagLimits",
    "report",
    "behind_seconds",
    "Subject",
    "UnjudgedGroup",
    "judge",
    "LagVerdict",
    "Sample",
    "cut",
    "Stretch",
    "StretchContent",
    "Latency",
    "Retention",
    "Series",
    "Window",
    "WindowStore",
    "WindowUnreadable",
]
