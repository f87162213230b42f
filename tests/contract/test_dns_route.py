"""What name servers do that no other service does: several of them answer, records are of several types, keys sign."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.errors import Refused
from kafka_dr.routing import (
    Route,
    RouteConflict,
    RouteUncertain,
    RouteUnreadable,
    RouteUnwritable,
    TsigKey,
)
from support.name_servers import KEY, NameServers, name_servers
from support.remote_route import VALUES, RemoteRoute, in_dns

EAST = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
WEST = Route("orders", "west", "west:9092", 2, datetime(2026, 11, 20, 4, tzinfo=UTC))


@pytest.fixture
def own_servers(tmp_path: Path) -> Iterator[NameServers]:
    """Servers of which a test ends one."""
    with name_servers(tmp_path) as servers:
        yield servers


def shown(command: str) -> list[list[str]]:
    """Return what a command of a shell writes, by lines and words."""
    done = subprocess.run(["/bin/sh", "-ec", command], capture_output=True, text=True, check=True)
    return sorted(line.split() for line in done.stdout.splitlines())


def test_both_servers_show_the_value_with_its_ttl_and_the_route(route_in_dns: RemoteRoute) -> None:
    router = route_in_dns.reached_at(ttl=17)
    router.switch(expected_epoch=None, route=EAST)

    for command in router.shown_by():
        address, text = sorted(shown(command), key=lambda words: words[3])
        assert address == [f"{router.name}.", "17", "IN", "A", *VALUES["east"]]
        assert text[:4] == [f"_kafka-dr.{router.name}.", "17", "IN", "TXT"]
        assert '\\"epoch\\": 1' in " ".join(text)


@pytest.mark.parametrize(
    "values",
    [
        {"east": ["kafka.east.example.test"], "west": ["kafka.west.example.test"]},
        {"east": ["10.0.0.1", "10.0.0.2"], "west": ["kafka.west.example.test"]},
        {"east": ["10.0.0.1", "fd00::1"], "west": ["fd00:0::2", "fd00::3"]},
    ],
)
def test_a_name_leads_to_addresses_or_to_another_name(dns_servers: NameServers, values: dict[str, list[str]]) -> None:
    router = in_dns(dns_servers, values=values).reached_at()
    for before, route in ((None, EAST), (1, WEST), (2, dataclasses.replace(EAST, epoch=3))):
        router.try_out()
        router.switch(expected_epoch=before, route=route)

        assert router.read() == route
    assert router.remains()
    router.remove()
    assert router.remains() == ()


def test_a_long_route_is_kept_whole(route_in_dns: RemoteRoute) -> None:
    router = route_in_dns.reached_at()
    servers = ",".join(f"kafka-{number}.east.example.com:9094" for number in range(40))
    router.switch(expected_epoch=None, route=dataclasses.replace(EAST, bootstrap_servers=servers))

    stored = router.read()
    assert stored is not None
    assert stored.bootstrap_servers == servers


def test_a_name_that_leads_to_a_cluster_already_is_taken_over(
    dns_servers: NameServers, route_in_dns: RemoteRoute
) -> None:
    router = route_in_dns.reached_at()
    dns_servers.write(router.name, "A", *VALUES["east"])
    assert router.read() is None

    router.switch(expected_epoch=None, route=EAST)

    assert router.read() == EAST


def test_a_name_that_somebody_has_changed_is_shown_as_it_is_and_the_next_switch_corrects_it(
    dns_servers: NameServers, route_in_dns: RemoteRoute
) -> None:
    router = route_in_dns.reached_at()
    router.switch(expected_epoch=None, route=EAST)
    for texts, leads_to in ((VALUES["west"], "west"), (["10.9.9.9"], "A 10.9.9.9")):
        dns_servers.write(router.name, "A", *texts)

        assert router.read() == dataclasses.replace(EAST, active=leads_to)

    router.switch(expected_epoch=1, route=WEST)
    assert router.read() == WEST


def test_a_change_of_the_name_alone_is_compared_too(dns_servers: NameServers, route_in_dns: RemoteRoute) -> None:
    router = route_in_dns.reached_at()
    router.switch(expected_epoch=None, route=EAST)
    _, seen = router.look()
    dns_servers.write(router.name, "A", "10.9.9.9")

    router.put(seen, WEST)

    assert router.read() == dataclasses.replace(EAST, active="A 10.9.9.9")


def test_a_text_that_is_no_route_is_not_replaced(dns_servers: NameServers, route_in_dns: RemoteRoute) -> None:
    router = route_in_dns.reached_at()
    dns_servers.write(f"_kafka-dr.{router.name}", "TXT", '"v=spf1"')

    with pytest.raises(RouteUnreadable, match="holds no route: compare it with the DR register"):
        router.switch(expected_epoch=None, route=EAST)


def test_a_server_that_is_dead_during_the_switch_holds_nothing_up(own_servers: NameServers) -> None:
    router = in_dns(own_servers).reached_at()
    router.switch(expected_epoch=None, route=EAST)
    own_servers.running.close()

    router.switch(expected_epoch=1, route=WEST)

    assert router.read() == WEST
    with pytest.raises(RouteUnwritable, match=f"127.0.0.1:{own_servers.secondary} gave no answer, because nothing"):
        router.try_out()


def test_a_server_that_still_shows_the_old_value_is_named(own_servers: NameServers) -> None:
    router = in_dns(own_servers).reached_at(seconds=1)
    router.switch(expected_epoch=None, route=EAST)
    own_servers.running.close()
    own_servers.start_secondary(copies=False)

    with pytest.raises(RouteUncertain, match=f"127.0.0.1:{own_servers.secondary} still shows the former records"):
        router.switch(expected_epoch=1, route=WEST)

    assert router.read() == WEST
    own_servers.running.close()


@pytest.mark.parametrize(
    "key",
    [
        TsigKey("kafka-dr", "YW5vdGhlciBzZWNyZXQ="),
        TsigKey("nobody", KEY.secret),
        TsigKey(KEY.name, KEY.secret, "hmac-sha512"),
    ],
)
def test_a_key_that_the_server_does_not_know_needs_a_person(route_in_dns: RemoteRoute, key: TsigKey) -> None:
    router = route_in_dns.reached_at(key=lambda: key)

    with pytest.raises(RouteUnreadable, match="does not accept the TSIG key: check its name, secret and algorithm"):
        router.read()
    with pytest.raises(RouteUnwritable, match="does not accept the TSIG key"):
        router.try_out()


def test_a_server_that_takes_no_updates_is_named_before_a_switch(
    dns_servers: NameServers, route_in_dns: RemoteRoute
) -> None:
    router = route_in_dns.reached_at(dns_servers.secondary)

    with pytest.raises(RouteUnwritable, match=r"refuses updates of example\.test by this key"):
        router.try_out()
    with pytest.raises(RouteUnwritable, match=r"refuses updates of example\.test by this key"):
        router.switch(expected_epoch=None, route=EAST)


def test_a_zone_that_a_server_does_not_serve_is_named(route_in_dns: RemoteRoute) -> None:
    router = route_in_dns.reached_at(zone="example.org", name="orders.example.org")

    with pytest.raises(RouteUnwritable, match=r"does not answer for the zone example\.org"):
        router.try_out()


def test_a_cluster_without_a_value_is_refused(route_in_dns: RemoteRoute) -> None:
    router = route_in_dns.reached_at(values={"east": VALUES["east"]})

    with pytest.raises(RouteConflict, match="has no value for west: add it to its values"):
        router.switch(expected_epoch=None, route=WEST)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (("", KEY.secret), "it holds no TSIG key"),
        (("name", "no base64"), "it holds no TSIG key"),
        (("name", KEY.secret, "hmac-md5"), "its algorithm is 'hmac-md5': write one of hmac-sha256"),
    ],
)
def test_a_key_that_cannot_sign_is_refused(key: tuple[str, ...], said: str) -> None:
    with pytest.raises(Refused, match=said):
        TsigKey(*key)
