"""Failback: after an unplanned failover the old cluster becomes a copy of the active one again, and loses no record.

``source`` of such a run is the active cluster, ``target`` is the old cluster. When the run is complete, replication
runs from the source to the target. The active cluster's register decides from the first step to the last.
"""

from __future__ import annotations
