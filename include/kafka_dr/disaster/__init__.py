"""Whether a cluster is down: probed from here and from elsewhere, judged by the topology's rule."""

from __future__ import annotations

from kafka_dr.disaster.probes import take, take_of_silent
from kafka_dr.disaster.verdict import Answer, Verdict, judge
from kafka_dr.runs.probe import Probe

__all__ = ["Answer", "Probe", "Verdict", "judge", "take", "take_of_silent"]
