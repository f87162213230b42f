"""Where applications find the active cluster: a port, and the ways to keep it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from kafka_dr.clock import Clock
from kafka_dr.routing.command import CommandRouter
from kafka_dr.routing.etcd import EtcdRouter
from kafka_dr.routing.etcd_api import EtcdApi
from kafka_dr.routing.file import FileRouter
from kafka_dr.routing.route import (
    Route,
    RouteBusy,
    RouteConflict,
    Router,
    RouteSilent,
    RouteUncertain,
    RouteUnreadable,
    RouteUnwritable,
)
from kafka_dr.routing.tsig_key import TsigKey
from kafka_dr.topology.route import RouteSpec

__all__ = [
    "Router",
    "Route",
    "CommandRouter",
    "EtcdApi",
    "EtcdRouter",
    "FileRouter",
    "RouteBusy",
    "RouteConflict",
    "RouteSilent",
    "RouteUncertain",
    "RouteUnreadable",
    "RouteUnwritable",
    "TsigKey",
    "router_of",
]


def router_of(
    spec: RouteSpec, clock: Clock, *, group: str, etcd: Callable[[str], EtcdApi], tsig: Callable[[str], TsigKey]
) -> Router:
    """Return what keeps a declared route. Its connection is read when it is first needed.

    :param group: the name of its protection group
    :param etcd: returns etcd of a connection id
    :param tsig: returns the key of name servers of a connection id
    """
    match spec.kind:
        case "file":
            return FileRouter(Path(spec.path), clock)
        case "etcd":
            return EtcdRouter(spec.key, partial(etcd, spec.connection), spec.further_endpoints, clock)
        case "command":
            return CommandRouter(spec.program, group, clock, spec.seconds)
        case "dns":
            # Its library is large, and most processes need no name server.
            from kafka_dr.routing.dns import DnsRouter

            key = partial(tsig, spec.connection)
            return DnsRouter(spec.name, spec.zone, spec.primary, spec.servers, spec.values, spec.ttl, key, clock)
