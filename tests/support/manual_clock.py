"""A clock that a test moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class ManualClock:
    """A clock that moves only by :meth:`advance` and :meth:`sleep`, so that waits cost no time in tests.

    :param start: the moment it shows first; must be aware.
    """

    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _passed: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if self.start.tzinfo is None:
            raise ValueError(f"The clock was started at {self.start}, which has no time zone: pass an aware datetime.")

    def now(self) -> datetime:
        """Return the start plus what has passed, in UTC."""
        return self.start.astimezone(UTC) + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        """Return the seconds passed since the start."""
        return self._passed

    def sleep(self, seconds: float) -> None:
        """Move on without waiting."""
        self.advance(max(seconds, 0.0))

    def advance(self, seconds: float) -> None:
        """Let time pass.

        :param seconds: how much; time never goes backwards.
        :raises ValueError: when negative.
        """
        if seconds < 0:
            raise ValueError(f"The clock was moved by {seconds} s: time only goes forward, pass zero or more.")
        self._passed += seconds
