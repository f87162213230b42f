"""The steps of an unplanned failover: none of them needs the source, and none waits for Connect."""

from __future__ import annotations
