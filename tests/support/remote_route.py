"""A route in a service of others, as a test of its own reaches it: directly, by a proxy, and as somebody else."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka_dr.routing import EtcdApi, EtcdRouter
from kafka_dr.routing.dns import DnsRouter
from support.etcd_server import PASSWORD, PREFIX, USER, EtcdServer, required
from support.name_servers import KEY, ZONE, NameServers


@dataclass(frozen=True)
class RemoteRoute:
    """One route that nothing else uses.

    :param reached_at: returns a router of its own, by the server itself or by a proxy on another port
    :param port: of the server
    :param is_write: whether a request would change something
    :param write_foreign: puts there what is no route
    :param secrets: what nobody may see
    :param environ: what commands by hand need
    """

    reached_at: Callable[..., Any]
    port: int
    is_write: Callable[[bytes], bool]
    write_foreign: Callable[[], None]
    secrets: tuple[str, ...]
    environ: dict[str, str]


def in_etcd(server: EtcdServer) -> RemoteRoute:
    """Return a route in a new key."""
    required("etcdctl", "etcd-client")
    key = f"{PREFIX}{uuid.uuid4().hex}"

    def reached_at(port: int | None = None, **options: Any) -> EtcdRouter:
        api = EtcdApi(server.at(port) if port else server.endpoint)
        return EtcdRouter(key, lambda: api, **options)

    return RemoteRoute(
        reached_at,
        server.port,
        lambda request: b"/v3/kv/txn" in request,
        lambda: server.put(key, b"east.example.com:9092"),
        (PASSWORD,),
        {"ETCDCTL_USER": f"{USER}:{PASSWORD}"},
    )


#: An address of a cluster for each name that a test may give it.
VALUES = {name: [f"10.0.0.{number}"] for number, name in enumerate(("east", "west", *(f"c{n}" for n in range(16))), 1)}


def in_dns(servers: NameServers, **changes: Any) -> RemoteRoute:
    """Return a route by a new name, which both servers serve.

    :param changes: of the router's fields
    """
    required("nsupdate", "bind9-dnsutils")
    name = f"r{uuid.uuid4().hex}.{ZONE}"

    def reached_at(port: int | None = None, **options: Any) -> DnsRouter:
        primary, others = f"127.0.0.1:{port or servers.primary}", (f"127.0.0.1:{servers.secondary}",)
        router = DnsRouter(name, ZONE, primary, others, VALUES, 30, lambda: KEY)
        return dataclasses.replace(router, **changes, **options)

    return RemoteRoute(
        reached_at,
        servers.primary,
        # Two bytes of length, two of the id, then the kind of message: 5 is an update (RFC 2136, 1.3).
        lambda message: len(message) > 4 and message[4] >> 3 & 15 == 5,
        lambda: servers.write(name, "A", "10.9.9.9"),
        (KEY.secret,),
        {"KAFKA_DR_TSIG_FILE": str(servers.key_file)},
    )
