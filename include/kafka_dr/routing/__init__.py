"""Where applications find the active cluster: a port, and the ways to keep it."""

from __future__ import annotations

from pathlib import Path

from kafka_dr.clock import Clock
from kafka_dr.routing.file import FileRouter
from kafka_dr.routing.route import (
    Route,
    RouteBusy,
    RouteConflict,
    Router,
    RouteUncertain,
    RouteUnreadable,
    RouteUnwritable,
)
from kafka_dr.topology.group_keys import RouteSpec

__all__ = [
    "Router",
    "Route",
    "FileRouter",
    "RouteBusy",
    "RouteConflict",
    "RouteUncertain",
    "RouteUnreadable",
    "RouteUnwritable",
    "router_of",
]


def router_of(spec: RouteSpec, clock: Clock) -> Router:
    """Return what keeps a declared route."""
    match spec.kind:
        case "file":
            return FileRouter(Path(spec.path), clock)
