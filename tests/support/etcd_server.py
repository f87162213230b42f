"""A real etcd on the loopback (Debian: ``etcd-server``), with a user who has rights on one prefix alone."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.tls_files import TlsFiles
from kafka_dr.waiting import wait_until
from support.child_server import free_port, running
from support.secured_connect import Authority

USER, PASSWORD, PREFIX = "kafka-dr", "a password of etcd", "/routes/"


@dataclass(frozen=True, slots=True)
class EtcdServer:
    """One member.

    :param endpoint: with the login of the user
    """

    endpoint: HttpEndpoint

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.endpoint.base_url.rpartition(":")[2])

    def at(self, port: int) -> HttpEndpoint:
        """Return the same server as it is reached by another port of the loopback."""
        return replace(self.endpoint, base_url=f"http://127.0.0.1:{port}")

    def as_root(self, what: str, **body: Any) -> Any:
        """Return what etcd answers its administrator."""
        url, context = self.endpoint.base_url, self.endpoint.tls_context()
        with httpx.Client(base_url=f"{url}/v3/", verify=context or False) as client:
            login = client.post("auth/authenticate", json={"name": "root", "password": PASSWORD})
            headers = {"Authorization": login.json()["token"]} if login.is_success else {}
            return client.post(what, json=body, headers=headers).raise_for_status().json()

    def put(self, key: str, value: bytes) -> None:
        """Write a key as its administrator."""
        self.as_root("kv/put", key=text(key), value=base64.b64encode(value).decode())


def text(sent: str) -> str:
    """Return a text as the gateway takes it."""
    return base64.b64encode(sent.encode()).decode()


@contextmanager
def etcd(folder: Path, *options: str, authority: Authority | None = None) -> Iterator[EtcdServer]:
    """Run a member with authentication enabled.

    :param options: of its command line
    :param authority: signs its certificate; without one it speaks HTTP
    """
    client, peer = free_port(), free_port()
    scheme, tls = ("https", TlsFiles(str(authority.ca_file))) if authority else ("http", TlsFiles())
    url, between = f"{scheme}://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    pair = authority.signed("etcd") if authority else ""
    with running(
        required("etcd", "etcd-server"),
        *("--name=one", f"--data-dir={folder / 'data'}", f"--listen-client-urls={url}"),
        *(f"--advertise-client-urls={url}", f"--listen-peer-urls={between}"),
        *(f"--initial-advertise-peer-urls={between}", f"--initial-cluster=one={between}"),
        *((f"--cert-file={pair}", f"--key-file={pair}") if pair else ()),
        "--bcrypt-cost=4",
        *options,
        log=folder / "etcd.log",
    ):
        server = EtcdServer(HttpEndpoint(url, username=USER, password=PASSWORD, tls=tls))
        wait_until(
            lambda: server.as_root("maintenance/status"),
            bool,
            clock=SystemClock(),
            seconds=30,
            retry=httpx.HTTPError,
        )
        for what, body in _setup():
            server.as_root(what, **body)
        yield server


def _setup() -> Sequence[tuple[str, dict[str, Any]]]:
    end = PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1)
    both = {"permType": "READWRITE", "key": text(PREFIX), "range_end": text(end)}
    return (
        ("auth/user/add", {"name": "root", "password": PASSWORD}),
        ("auth/role/add", {"name": "root"}),
        ("auth/user/grant", {"user": "root", "role": "root"}),
        ("auth/user/add", {"name": USER, "password": PASSWORD}),
        ("auth/role/add", {"name": "routes"}),
        ("auth/role/grant", {"name": "routes", "perm": both}),
        ("auth/user/grant", {"user": USER, "role": "routes"}),
        ("auth/enable", {}),
    )


def required(program: str, package: str) -> str:
    """Return the path of a program; the test fails if it is missing, and names its package of Debian."""
    return shutil.which(program) or pytest.fail(f"{program} is missing, which routes need: apt-get install {package}")
