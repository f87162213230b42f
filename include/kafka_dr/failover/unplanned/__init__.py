"""The steps of an unplanned failover: none of them needs the source, and none waits for what runs the flow."""

from __future__ import annotations
