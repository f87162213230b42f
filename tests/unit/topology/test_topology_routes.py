"""What a route of each kind may be, and what is said of each slip of the pen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.model import Topology
from kafka_dr.topology.route import DnsRouteSpec, EtcdRouteSpec

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], list[str]]

FILE = "route: {kind: file, path: /srv/route/orders.json}"
ETCD = "route: {kind: etcd, connection: etcd_routes, key: /routes/orders}"
DNS = """route:
      kind: dns
      connection: dns_key
      primary: 10.0.0.53
      servers: [10.1.0.53:5353, "[fd00::53]:53"]
      zone: example.com
      name: orders.example.com
      values: {east: [10.0.0.1, 10.0.0.2], west: [kafka.west.example.com]}"""


def test_a_route_may_be_kept_in_etcd(edited: Edit, load_text: Load) -> None:
    group = load_text(edited((FILE, ETCD))).group("orders")

    assert group.route == EtcdRouteSpec(kind="etcd", connection="etcd_routes", key="/routes/orders")
    assert group.http_connections == ("etcd_routes",)


def test_a_program_may_keep_the_routes_of_several_groups(edited: Edit, second: str, load_text: Load) -> None:
    program = "route: {kind: command, program: [/usr/local/bin/kafka-route, gateway]}"
    topology = load_text(edited((FILE, program)) + second.replace(FILE.replace("orders", "carts"), program))

    orders, carts = (topology.group(name).route for name in ("orders", "carts"))
    assert orders == carts == orders.for_group("kafka-dr-drill-orders-1")


def test_the_route_of_a_drill_is_a_key_next_to_the_real_one() -> None:
    real = EtcdRouteSpec(kind="etcd", connection="etcd_routes", key="/routes/orders")

    assert real.for_group("kafka-dr-drill-orders-1").key == "/routes/kafka-dr-drill-orders-1"


def test_a_route_may_be_kept_in_dns(edited: Edit, load_text: Load) -> None:
    group = load_text(edited((FILE, DNS))).group("orders")

    assert isinstance(group.route, DnsRouteSpec)
    assert (group.route.ttl, group.route.values["west"]) == (30, ("kafka.west.example.com",))
    assert (group.http_connections, group.route.tsig_connections) == ((), ("dns_key",))


@pytest.mark.parametrize(
    ("drill", "name"),
    [
        ("kafka-dr-drill-orders-20261127040000", "kafka-dr-drill-orders-20261127040000.example.com"),
        ("kafka-dr-drill-Old_orders-20261127040000", "kafka-dr-drill-old-orders-20261127040000.example.com"),
        (f"kafka-dr-drill-{'o' * 60}-20261127040000", f"{'o' * 48}-20261127040000.example.com"),
    ],
)
def test_the_route_of_a_drill_is_a_name_next_to_the_real_one(
    edited: Edit, load_text: Load, drill: str, name: str
) -> None:
    real = load_text(edited((FILE, DNS))).group("orders").route
    assert isinstance(real, DnsRouteSpec)

    assert real.for_group(drill).name == name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("10.0.0.53\n", "ns1.example.com\n"),
            "route.primary: 'ns1.example.com' is written here; write the address",
        ),
        (("10.0.0.53\n", "10.0.0.353\n"), "route.primary: '10.0.0.353' is written here; write the address of the name"),
        (("10.1.0.53:5353", "10.1.0.53.1"), "route.servers[0]: '10.1.0.53.1' is written here; write the addresses of"),
        (("name: orders.", "name: Orders."), "route.name: 'Orders.example.com' is written here; write the name that"),
        (
            ("zone: example.com", "zone: example.org"),
            "route.name: 'orders.example.com' is not below the zone 'ex",
        ),
        (
            ("values: {", "ttl: 0\n      values: {"),
            "route.ttl: 0 is written here; write a number of at least 1: for",
        ),
        (("east: [10.0.0.1, 10.0.0.2], ", ""), "route.values: 'east' has no value; add east with its addresses"),
        (
            ("east: [", "north: [10.0.0.9], east: ["),
            "route.values.north: 'north' is no cluster of this group; write",
        ),
        (("10.0.0.2]", "b.example.com]"), "route.values.east: this list has 2 entries; write for each cluster of the"),
        (("[10.0.0.1, 10.0.0.2]", "[]"), "route.values.east: this list is empty; write for each cluster of the group"),
    ],
)
def test_each_slip_in_a_name_is_one_sentence(
    edited: Edit, mistakes_in: Complain, change: tuple[str, str], said: str
) -> None:
    assert change[0] in DNS
    (only,) = mistakes_in(edited((FILE, DNS.replace(*change))))

    assert f"protection_groups.orders.{said}" in only


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ("route: {kind: command, program: [kafka-route]}", "route.program: this list has 1 entry; write the program"),
        ("route: {kind: command, program: []}", "route.program: this list is empty; write the program that reads"),
        (FILE.replace("kind: file, ", ""), "route.kind: this key is missing; add kind: the kind of router"),
        (FILE.replace("file", "fax", 1), "route.kind: 'fax' is written here; write one of 'file', "),
        (FILE.replace("file,", "[],"), "route.kind: this list is empty; write one of 'file', "),
        ("route: orders", "route: 'orders' is text; write a section with keys: where applications look up"),
        (
            ETCD.replace("key:", "path: /srv/orders.json, key:"),
            "route.path: there is no such key; remove it, or write one of: kind, connection,",
        ),
        (
            ETCD.replace(", key: /routes/orders", ""),
            "route.key: this key is missing; add key: the whole key, with a / in",
        ),
        (ETCD.replace("/routes/", ""), "route.key: 'orders' is written here; write the whole key, with a / in it"),
        (ETCD.replace("key:", "further_endpoints: [etcd-2], key:"), "route.further_endpoints[0]: 'etcd-2' is written"),
        (
            ETCD.replace("connection", "conection"),
            "route.conection: there is no such key; write connection, the nearest",
        ),
    ],
)
def test_each_slip_in_a_route_is_one_sentence(edited: Edit, mistakes_in: Complain, route: str, said: str) -> None:
    (only,) = mistakes_in(edited((FILE, route)))

    assert f"protection_groups.orders.{said}" in only


def test_two_groups_may_not_share_a_key(edited: Edit, second: str, mistakes_in: Complain) -> None:
    text = edited((FILE, ETCD)) + second.replace("route: {kind: file, path: /srv/route/carts.json}", ETCD)
    (only,) = mistakes_in(text)

    assert "protection_groups.carts.route.key: '/routes/orders' is already given at" in only
