"""Whether a cluster is down: probed from here and from elsewhere, judged by the topology's rule."""

from __future__ import annotations

from kafka_dr.failover.disaster.probes import take, take_of_silent
from kafka_dr.failover.disaster.verdict import Answer, Probe, Verdict, judge

__all__ = ["Answer", "Probe", "Verdict", "judge", "take", "take_of_silent"]
