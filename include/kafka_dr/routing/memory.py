"""A router in memory; the same contract tests run against it and the real ones."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from kafka_dr.routing.route import Route, must_replace


@dataclass(slots=True)
class MemoryRouter:
    """A route that lives as long as the process."""

    stored: Route | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self) -> Route | None:
        """Return the stored route."""
        return self.stored

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Store a route by compare-and-set on the epoch."""
        with self._lock:
            if must_replace(self.stored, route, expected_epoch=expected_epoch):
                self.stored = route
