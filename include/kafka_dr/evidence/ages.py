"""How long ago something was, for people."""

from __future__ import annotations

from datetime import timedelta

from kafka_dr.durations import about


def age_of(age: timedelta) -> str:
    """Return how long ago something was, for people: ``40 s ago``, ``12 min ago``, ``3 h ago``, ``2 days ago``."""
    return f"{about(age)} ago" if age >= timedelta(0) else "in the future"
