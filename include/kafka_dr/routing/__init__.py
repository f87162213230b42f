"""Where applications find the active cluster: a port, and the ways to keep it."""

from __future__ import annotations

from kafka_dr.routing.file import FileRouter
from kafka_dr.routing.route import (
    MemoryRouter,
    Route,
    RouteBusy,
    RouteConflict,
    Router,
    RouteUncertain,
    RouteUnreadable,
    RouteUnwritable,
)

__all__ = [
    "Router",
    "Route",
    "FileRouter",
    "MemoryRouter",
    "RouteBusy",
    "RouteConflict",
    "RouteUncertain",
    "RouteUnreadable",
    "RouteUnwritable",
]
