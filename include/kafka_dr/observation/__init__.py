"""Replication that somebody else runs: what its copy is worth, found out by reading alone."""

from __future__ import annotations

from kafka_dr.observation.kept_audits import KeptAudits, kept_audits, what_first
from kafka_dr.observation.look import look_at
from kafka_dr.observation.result import FlowObservation

__all__ = ["FlowObservation", "KeptAudits", "kept_audits", "look_at", "what_first"]
