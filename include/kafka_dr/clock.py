"""Time as an argument: code that waits, expires or stamps takes a Clock, so that a test controls the time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the present moment comes from."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC: for stamps and for comparing with other machines."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards: for durations and deadlines on this machine."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; zero and less return at once."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the machine's time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread."""
        if seconds > 0:
            time.sleep(seconds)


@dataclass(slots=True)
class Stopwatch:
    """Measures the seconds of each part of a job.

    :param laps: by name
    """

    clock: Clock
    laps: dict[str, float] = field(default_factory=dict)
    _began: float = 0.0
    _last: float = 0.0

    def __post_init__(self) -> None:
        self._began = self._last = self.clock.monotonic()

    def lap(self, name: str) -> None:
        """Add the time since the previous lap to a part.

        :param name: of the part that has just ended
        """
        now = self.clock.monotonic()
        self.laps[name] = round(self.laps.get(name, 0.0) + now - self._last, 3)
        self._last = now

    def total(self) -> dict[str, float]:
        """Return the seconds of each part and, as ``total``, of all of them."""
        return {**self.laps, "total": round(self.clock.monotonic() - self._began, 3)}
