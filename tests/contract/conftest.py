from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.etcd_server import EtcdServer, etcd
from support.name_servers import NameServers, name_servers
from support.remote_route import RemoteRoute, in_dns, in_etcd


@pytest.fixture(scope="session")
def etcd_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    with etcd(tmp_path_factory.mktemp("etcd")) as server:
        yield server


@pytest.fixture
def route_in_etcd(etcd_server: EtcdServer) -> RemoteRoute:
    return in_etcd(etcd_server)


@pytest.fixture(scope="session")
def dns_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServers]:
    with name_servers(tmp_path_factory.mktemp("dns")) as servers:
        yield servers


@pytest.fixture
def route_in_dns(dns_servers: NameServers) -> RemoteRoute:
    return in_dns(dns_servers)
