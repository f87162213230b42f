"""What a route of each kind may be, and what is said of each slip of the pen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.model import Topology
from kafka_dr.topology.route import EtcdRouteSpec

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], list[str]]

FILE = "route: {kind: file, path: /srv/route/orders.json}"
ETCD = "route: {kind: etcd, connection: etcd_routes, key: /routes/orders}"


def test_a_route_may_be_kept_in_etcd(edited: Edit, load_text: Load) -> None:
    group = load_text(edited((FILE, ETCD))).group("orders")

    assert group.route == EtcdRouteSpec(kind="etcd", connection="etcd_routes", key="/routes/orders")
    assert group.http_connections == ("etcd_routes",)


def test_the_route_of_a_drill_is_a_key_next_to_the_real_one() -> None:
    real = EtcdRouteSpec(kind="etcd", connection="etcd_routes", key="/routes/orders")

    assert real.for_group("kafka-dr-drill-orders-1").key == "/routes/kafka-dr-drill-orders-1"


@pytest.mark.parametrize(
    ("route", "said"),
    [
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
