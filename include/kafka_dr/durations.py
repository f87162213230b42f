"""How a duration is written for people, with its units: ``0.4 s``, ``25 s``, ``3 min``, ``1 h 5 min``, ``2 days``."""

from __future__ import annotations

from datetime import timedelta

#: The units, the largest first, in seconds.
_UNITS = ((86_400, "day"), (3_600, "h"), (60, "min"), (1, "s"))
#: Up to here people think in seconds: an objective of 90 s is one of 90 s.
IN_SECONDS = 120


def duration(of: float | timedelta) -> str:
    """Return a duration in at most two units; what is smaller is left out.

    :param of: in seconds, or as a difference of times; a negative one counts as none
    """
    return " ".join(_parts(of))


def about(of: float | timedelta) -> str:
    """Return a duration in its largest unit; what is smaller is left out.

    :param of: in seconds, or as a difference of times; a negative one counts as none
    """
    return _parts(of)[0]


def _parts(of: float | timedelta) -> list[str]:
    """Return the largest unit, and the next one if it is not 0."""
    seconds = max(0.0, of.total_seconds() if isinstance(of, timedelta) else of)
    if seconds < IN_SECONDS:
        return [f"{seconds:.3g} s"]
    left, parts = round(seconds), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if parts or count:
            several = "s" if unit == "day" and count > 1 else ""
            parts.append(f"{count} {unit}{several}" if count else "")
    return [each for number, each in enumerate(parts) if each and number < 2]
