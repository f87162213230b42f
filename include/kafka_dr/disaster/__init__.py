"""Whether a cluster is down: probed by this installation and by its vantages, judged by the topology's rule."""

from __future__ import annotations

from kafka_dr.disaster.disaster_rule import ClusterCondition, ClusterVerdict, judge
from kafka_dr.disaster.probes import ask_vantages, take_probes
from kafka_dr.runs.probe import Probe

__all__ = ["ClusterCondition", "ClusterVerdict", "Probe", "ask_vantages", "judge", "take_probes"]
