"""How long ago something was, for people."""

from __future__ import annotations

from datetime import timedelta


def age_of(age: timedelta) -> str:
    """Return how long ago something was, for people: ``40 s ago``, ``12 min ago``, ``3 h ago``, ``2 days ago``."""
    seconds = age.total_seconds()
    if seconds < 0:
        return "in the future"
    if seconds < 120:
        return f"{seconds:.0f} s ago"
    if seconds < 2 * 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 48 * 3600:
        return f"{seconds // 3600:.0f} h ago"
    return f"{seconds // 86400:.0f} days ago"
