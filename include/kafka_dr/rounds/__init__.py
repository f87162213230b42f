"""A round: one look of a watch at many groups, by a few child processes at the same time.

A client library that aborts its process takes only the groups of that process with it, and these are looked at once
more. A process looks at all of its groups at the same time, each with a deadline of its own. Groups on other clusters
are in other processes, so a cluster that hangs delays nobody else.
"""

from __future__ import annotations

from kafka_dr.rounds.access_data import AccessData
from kafka_dr.rounds.round import Round, RoundLimits, look_at_groups

__all__ = ["AccessData", "Round", "RoundLimits", "look_at_groups"]
