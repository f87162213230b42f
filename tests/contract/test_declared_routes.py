"""From the topology and its connections to a route on the real servers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.connections.connection import Connection
from kafka_dr.connections.port import Connections
from kafka_dr.errors import Refused
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.routing import Route
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.drill_group import Drill, topology_of
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup, Topology
from support.etcd_server import PASSWORD, PREFIX, USER, EtcdServer
from support.name_servers import KEY, ZONE, NameServers

LAB = {f"KAFKA_DR_LAB_{name}": "127.0.0.1:1" for name in ("EAST", "WEST", "VANTAGE")} | {"KAFKA_DR_LAB_HOME": "/lab"}
Declared = tuple[dict[str, Any], Connection]


@pytest.fixture
def in_etcd(etcd_server: EtcdServer) -> Declared:
    route = {"kind": "etcd", "connection": "of_route", "key": f"{PREFIX}declared"}
    return route, Connection("of_route", "http", "127.0.0.1", etcd_server.port, "http", USER, PASSWORD)


@pytest.fixture
def in_dns(dns_servers: NameServers) -> Declared:
    servers = {"primary": f"127.0.0.1:{dns_servers.primary}", "servers": [f"127.0.0.1:{dns_servers.secondary}"]}
    values = {"east": ["10.0.0.1"], "west": ["10.0.0.2"]}
    route = {"kind": "dns", "connection": "of_route", "zone": ZONE, "name": f"declared.{ZONE}", "values": values}
    return {**route, **servers}, Connection("of_route", login=KEY.name, password=KEY.secret)


@pytest.fixture(params=["etcd", "dns"])
def declared(request: pytest.FixtureRequest) -> Declared:
    found: Declared = request.getfixturevalue(f"in_{request.param}")
    return found


def topology_with(route: dict[str, Any]) -> Topology:
    topology = load(Path(__file__).parents[2] / "include" / "topology.yaml", LAB)
    kept = topology.group("orders").model_dump()
    group = ProtectionGroup.model_validate({**kept, "route": route})
    return topology.model_copy(update={"protection_groups": {"orders": group}})


def clients_of(topology: Topology, get: Callable[[str], Connection], root: Path) -> Clients:
    return Clients(topology, connections=Connections.stored(get), evidence_root=root, clock=SystemClock())


def test_the_declared_route_of_a_group_and_that_of_its_drill_are_kept_apart(declared: Declared, tmp_path: Path) -> None:
    spec, connection = declared
    topology = topology_with(spec)
    group = topology.group("orders")
    assert group.drill is not None
    drill = Drill(group, group.drill, "20261127040000", "planned", ("east", "west"))
    real = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
    own = dataclasses.replace(real, group=drill.name, active="west")
    (drilled,) = topology_of(drill, topology).protection_groups.values()
    clients = clients_of(topology, lambda _: connection, tmp_path)
    routers = clients.router(group), clients.router(drilled)

    for router, route in zip(routers, (real, own), strict=True):
        router.try_out()
        router.switch(expected_epoch=None, route=route)
    assert [router.read() for router in routers] == [real, own]
    routers[1].remove()
    assert [router.read() for router in routers] == [real, None]
    routers[0].remove()

    # What was read is kept out of evidence from then on.
    assert clients.evidence.secrets.inside(f"the secret is {connection.password} here")
    clients.close()


def test_a_connection_that_is_missing_is_named_when_the_route_is_asked(declared: Declared, tmp_path: Path) -> None:
    def missing(name: str) -> Connection:
        raise Refused(f"there is no connection {name}")

    clients = clients_of(topology := topology_with(declared[0]), missing, tmp_path)
    router = clients.router(topology.group("orders"))

    with pytest.raises(Refused, match="there is no connection of_route"):
        router.read()


def test_secrets_of_routes_are_learned_before_anything_uses_them(declared: Declared, tmp_path: Path) -> None:
    spec, connection = declared

    def of_route_alone(name: str) -> Connection:
        return connection if name == "of_route" else Connection(name)

    clients = clients_of(topology_with(spec), of_route_alone, tmp_path)

    clients.learn_secrets()

    assert clients.evidence.secrets.inside(f"the secret is {connection.password} here")


def test_a_look_of_a_child_reads_the_connection_of_the_route(declared: Declared) -> None:
    assert "of_route" in AccessData.read(topology_with(declared[0]), ["orders"], Connection).stored
