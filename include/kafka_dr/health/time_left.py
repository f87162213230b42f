"""The time of a look: whatever waits longer than is left of it is left to the next look."""

from __future__ import annotations

from kafka_dr.clock import Clock


class TimeBudget:
    """Counts down from when it is made.

    :param seconds: what all that follows may take together
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._until = clock.monotonic() + seconds

    def at_most(self, seconds: float) -> float:
        """Return how long something may take that gets so many seconds, or what is left where that is less."""
        return max(0.0, min(seconds, self._until - self._clock.monotonic()))
