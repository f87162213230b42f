"""How a duration is written for people, with its units: ``0.4 s``, ``25 s``, ``3 min``, ``1 h 5 min``, ``2 days``.

And a time: as a clock shows it, and how long ago it was.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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


def age_of(age: timedelta) -> str:
    """Return how long ago something was, for people, in whole units: ``40 s ago``, ``12 min ago``, ``2 days ago``."""
    return f"{about(round(age.total_seconds()))} ago" if age >= timedelta(0) else "in the future"


def moment(at: datetime, now: datetime) -> str:
    """Return a time for people: ``22:23 UTC · 9 min ago``; with its day if that is another one.

    :param now: UTC; a time that comes after it is shown without an age
    """
    day = "" if at.astimezone(UTC).date() == now.astimezone(UTC).date() else f"{at.astimezone(UTC):%Y-%m-%d} "
    clock = f"{day}{at.astimezone(UTC):%H:%M} UTC"
    return f"{clock} · {age_of(now - at)}" if at <= now else clock


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
