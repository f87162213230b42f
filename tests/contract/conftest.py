from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.etcd_server import EtcdServer, etcd
from support.remote_route import RemoteRoute, in_etcd


@pytest.fixture(scope="session")
def etcd_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    with etcd(tmp_path_factory.mktemp("etcd")) as server:
        yield server


@pytest.fixture
def route_in_etcd(etcd_server: EtcdServer) -> RemoteRoute:
    return in_etcd(etcd_server)
