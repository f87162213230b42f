"""Which rights each principal of this project needs on each cluster, from the topology. Pure.

One table, for every verb, check, audit and flow. What applications may do is their owners' matter and is not in it.
"""

from __future__ import annotations

from kafka_dr.rights.table import NeededRight, needed_on, without_patterns

__all__ = ["NeededRight", "needed_on", "without_patterns"]
