"""What etcd does that no other service does: tokens that end, rights on keys, members that are gone, TLS."""

from __future__ import annotations

import dataclasses
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.json_documents import parsed
from kafka_dr.routing import EtcdApi, EtcdRouter, Route, RouteSilent, RouteUnreadable, RouteUnwritable
from kafka_dr.tls_files import TlsFiles
from support.child_server import free_port
from support.cutting_proxy import cutting_proxy
from support.etcd_server import PASSWORD, PREFIX, USER, EtcdServer, etcd
from support.secured_connect import Authority

KEY = f"{PREFIX}orders"
EAST = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
WEST = Route("orders", "west", "west:9092", 2, datetime(2026, 11, 20, 4, tzinfo=UTC))


@pytest.fixture
def of_short_tokens(tmp_path: Path) -> Iterator[EtcdServer]:
    """An etcd whose tokens end after a second, or when any right changes."""
    key = rsa.generate_private_key(65537, 2048)
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    with etcd(tmp_path, f"--auth-token=jwt,pub-key={public},priv-key={private},sign-method=RS256,ttl=1s") as server:
        yield server


def router_at(endpoint: HttpEndpoint, key: str = KEY, *further: str, seconds: float = 5) -> EtcdRouter:
    api = EtcdApi(endpoint)
    return EtcdRouter(key, lambda: api, further, seconds=seconds)


def test_a_token_that_expires_is_renewed(of_short_tokens: EtcdServer) -> None:
    router = router_at(of_short_tokens.endpoint)
    router.switch(expected_epoch=None, route=EAST)

    time.sleep(2.1)  # etcd counts whole seconds
    router.switch(expected_epoch=1, route=WEST)

    assert router.read() == WEST


def test_a_token_that_ends_because_rights_change_is_renewed(of_short_tokens: EtcdServer) -> None:
    router = router_at(of_short_tokens.endpoint)
    router.switch(expected_epoch=None, route=EAST)

    of_short_tokens.as_root("auth/role/add", name="another")

    assert router.read() == EAST


def test_a_user_without_a_right_is_named_before_and_at_a_switch(etcd_server: EtcdServer) -> None:
    router = router_at(etcd_server.endpoint, "/others/orders")

    with pytest.raises(RouteUnwritable, match="does not permit it to kafka-dr: grant this user's role readwrite"):
        router.try_out()
    with pytest.raises(RouteUnreadable, match="does not permit it to kafka-dr"):
        router.switch(expected_epoch=None, route=EAST)


@pytest.mark.parametrize("login", [(USER, "wrong"), (None, None)])
def test_a_wrong_login_needs_a_person(etcd_server: EtcdServer, login: tuple[str | None, str | None]) -> None:
    router = router_at(dataclasses.replace(etcd_server.endpoint, username=login[0], password=login[1]))

    with pytest.raises(RouteUnreadable, match="check login and password of its connection"):
        router.read()


def test_the_next_member_is_asked_if_one_is_gone_or_hangs(etcd_server: EtcdServer) -> None:
    key, url = f"{PREFIX}members", etcd_server.endpoint.base_url
    gone = f"http://127.0.0.1:{free_port()}"
    with cutting_proxy(etcd_server.port) as proxy:
        proxy.mode = "hang"
        further = (f"http://127.0.0.1:{proxy.port}", url)
        router = router_at(dataclasses.replace(etcd_server.endpoint, base_url=gone), key, *further, seconds=1.5)

        router.switch(expected_epoch=None, route=EAST)

        assert router.read() == EAST
        with pytest.raises(RouteSilent, match=f"no answer at {gone}, {further[0]}, the last because no answer came"):
            dataclasses.replace(router, further=further[:1]).read()


def test_the_key_holds_what_applications_read_from_a_file(
    etcd_server: EtcdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCDCTL_USER", f"{USER}:{PASSWORD}")
    router = router_at(etcd_server.endpoint, f"{PREFIX}format")
    router.switch(expected_epoch=None, route=EAST)

    (shown, _) = router.shown_by()
    done = subprocess.run(["/bin/sh", "-ec", shown], capture_output=True, check=True)

    assert parsed(done.stdout.splitlines()[1], Route.from_part, schema=1) == EAST


def test_etcd_with_tls_is_reached_if_its_authority_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with etcd(tmp_path, authority=Authority.made(tmp_path / "authority")) as server:
        router = router_at(server.endpoint)
        router.switch(expected_epoch=None, route=EAST)
        assert router.read() == EAST

        monkeypatch.setenv("ETCDCTL_USER", f"{USER}:{PASSWORD}")
        (command,) = router.by_hand(WEST)
        subprocess.run(["/bin/sh", "-ec", command], check=True)
        assert router.read() == WEST

        of_nobody = router_at(dataclasses.replace(server.endpoint, tls=TlsFiles()))
        with pytest.raises(RouteSilent, match="its certificate is not accepted"):
            of_nobody.read()
