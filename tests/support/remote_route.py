"""A route in a service of others, as a test of its own reaches it: directly, by a proxy, and as somebody else."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka_dr.routing import EtcdApi, EtcdRouter
from support.etcd_server import PASSWORD, PREFIX, USER, EtcdServer, required


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
