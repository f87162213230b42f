"""Connect over HTTPS: a private authority, a client certificate, a login or a bearer token, from one connection."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import connect_endpoint
from kafka_dr.errors import ConnectionMistake
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.connector_status import ConnectorStatus
from kafka_dr.tls_files import TlsFiles
from support import mirrormaker
from support.plain_flow import PlainFlow
from support.secured_connect import PASSWORD, USER, Authority, secured_worker, token_proxy

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def asked(endpoint: HttpEndpoint) -> ConnectorStatus:
    with ConnectClient(endpoint, clock=SystemClock(), request_seconds=20) as connect:
        return connect.status("dr.nobody.east-to-west")


def test_certificates_are_checked_and_shown_and_the_login_is_needed(flowing: PlainFlow, tmp_path: Path) -> None:
    authority, stranger = Authority.made(tmp_path / "authority"), Authority.made(tmp_path / "stranger")
    lab = flowing.protection.lab
    with secured_worker(lab, authority, tmp_path, lab.settings.port_base + 790) as endpoint:
        extra = {"ca_file": str(authority.ca_file), "certificate_file": endpoint.tls.certificate_file}
        stored = {"host": endpoint.base_url, "login": USER, "password": PASSWORD, "extra": extra}
        assert connect_endpoint(Connection.of("connect_east", stored)) == endpoint
        assert asked(endpoint).state == "absent"

        with pytest.raises(ConnectionMistake, match=r"401.*check the login or token"):
            asked(replace(endpoint, password="wrong"))
        with pytest.raises(ConnectionMistake, match="401"):
            asked(replace(endpoint, username=None, password=None))
        for untrusted in (None, str(stranger.ca_file)):
            with pytest.raises(ConnectionMistake, match=r"its certificate is not accepted.*ca_file") as refused:
                asked(replace(endpoint, tls=replace(endpoint.tls, ca_file=untrusted)))
            assert PASSWORD not in str(refused.value)
        for shown in (None, str(stranger.signed("client"))):
            with pytest.raises(ConnectionMistake, match="client certificate"):
                asked(replace(endpoint, tls=replace(endpoint.tls, certificate_file=shown)))


def test_a_bearer_token_is_what_a_proxy_before_connect_asks_for(flowing: PlainFlow, tmp_path: Path) -> None:
    authority, token = Authority.made(tmp_path / "authority"), tmp_path / "token"
    token.write_text("a-token-of-a-service-account\n")
    connect_url = mirrormaker.connect(flowing.clients, "east").endpoint.base_url
    with token_proxy(connect_url, authority, token.read_text().strip()) as address:
        extra = {"ca_file": str(authority.ca_file), "bearer_token_file": str(token)}
        endpoint = connect_endpoint(Connection.of("connect_east", {"host": address, "extra": extra}))
        assert asked(endpoint).state == "absent"
        with pytest.raises(ConnectionMistake, match="401"):
            asked(replace(endpoint, token="another"))
        with pytest.raises(ConnectionMistake, match="401"):
            asked(HttpEndpoint(address, tls=TlsFiles(str(authority.ca_file))))
