"""How long each part of a job takes."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_dr.clock import Clock


@dataclass(slots=True)
class Stopwatch:
    """The seconds of each part of a job.

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
