"""Decides, from the applications' own logs and from what the clusters hold, whether a switch kept its promises.

Nothing here shares code with the steps of a failover: a mistake there must not be able to excuse itself here.
"""

from __future__ import annotations
