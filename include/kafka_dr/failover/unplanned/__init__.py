"""The steps of an unplanned failover: nothing in them needs the source, and nothing waits for Connect."""

from __future__ import annotations
