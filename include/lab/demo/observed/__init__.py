"""The demo of an observed flow: somebody else's replication, real faults in it, and a report that has to find them."""

from __future__ import annotations
