"""What is looked at every minute: that each cluster is what the register says, above all one that comes back.

Invariants: a DENY that is missing is added, and none is ever lifted; no register of a group that moves is written; a
cluster that does not answer holds up nothing that concerns another one.
"""

from __future__ import annotations

from kafka_dr.health.health_check import check_health

__all__ = ["check_health"]
