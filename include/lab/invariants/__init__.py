"""Decides, from the applications' own logs and from what the clusters hold, whether a switch held the invariants.

Nothing here shares code with the steps of a failover: a mistake in the steps must not hide itself in the check.
"""

from __future__ import annotations
