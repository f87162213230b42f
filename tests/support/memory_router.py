"""A route that lives as long as the process; it passes the same contract as the real ones."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from kafka_dr.routing import Route
from kafka_dr.routing.route import must_replace


@dataclass(slots=True)
class MemoryRouter:
    """Keeps the route in memory, which no command of a shell reaches."""

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

    def try_out(self) -> None:
        """Find nothing that would keep it from being switched."""

    def shown_by(self) -> tuple[str, ...]:
        """Return no command."""
        return ()

    def by_hand(self, route: Route) -> tuple[str, ...]:
        """Return no command."""
        return ()

    def remove(self) -> None:
        """Forget the route."""
        with self._lock:
            self.stored = None

    def remains(self) -> tuple[str, ...]:
        """Return its name while there is one."""
        return () if self.stored is None else ("the route in memory",)
