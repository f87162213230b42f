"""What an Airflow connection of type http may say about HTTPS, and what is refused because it is not safe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import connect_endpoint
from kafka_dr.errors import Refused
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.tls_files import TlsFiles


def endpoint(host: str = "https://connect:8083", **more: Any) -> HttpEndpoint:
    return connect_endpoint(Connection.of("connect_east", {"host": host, **more}))


def test_files_and_a_token_come_from_the_extra(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    tls = {"ca_file": "/ca.pem", "certificate_file": "/me.pem", "key_file": "/me.key", "key_password": "sesame"}
    found = endpoint(extra={**tls, "bearer_token_file": str(token)})
    assert found.tls == TlsFiles("/ca.pem", "/me.pem", "/me.key", "sesame")
    assert found.headers == {"Authorization": "Bearer first"}
    assert set(found.secrets) == {"first", "sesame"}
    assert "first" not in repr(found)
    assert "sesame" not in repr(found)
    assert endpoint(extra={"bearer_token": "second"}).token == "second"


@pytest.mark.parametrize(
    ("host", "more", "said"),
    [
        ("https://c", {"extra": {"verify": False}}, "certificates are always checked"),
        ("https://c", {"extra": {"verify": "false"}}, "certificates are always checked"),
        ("http://c", {"extra": {"ca_file": "/ca.pem"}}, "is no HTTPS address"),
        ("http://c", {"extra": {"bearer_token": "hunter22"}}, "unencrypted: write https://"),
        ("https://c", {"extra": {"bearer_token": "hunter22"}, "login": "me"}, "remove one of them"),
        ("https://c", {"extra": {"bearer_token_file": "/nowhere/hunter"}}, "/nowhere/hunter cannot be read"),
        ("https://me:hunter22@c", {}, "keep logins and tokens out of it"),
    ],
)
def test_what_is_not_safe_is_refused_with_the_connection_and_without_the_secret(
    host: str, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused, match=r"^connection connect_east: ") as refused:
        endpoint(host, **more)
    assert said in str(refused.value)
    assert "hunter22" not in str(refused.value)


def test_a_token_may_go_to_a_proxy_on_this_machine() -> None:
    assert endpoint("http://127.0.0.1:8083", extra={"bearer_token": "t"}).tls_context() is None


@pytest.mark.parametrize("tls", [TlsFiles(ca_file="/nowhere/ca.pem"), TlsFiles(certificate_file="/nowhere/me.pem")])
def test_a_file_that_cannot_be_used_is_named(tls: TlsFiles) -> None:
    said = r"^the certificates in /nowhere/\w+\.pem cannot be used, because a file is missing: correct the paths or "
    with pytest.raises(Refused, match=said):
        HttpEndpoint("https://c", tls=tls).tls_context()


@pytest.mark.parametrize("part", ["ca_file", "certificate_file"])
def test_a_file_that_holds_something_else_is_named_without_a_librarys_words(tmp_path: Path, part: str) -> None:
    (tmp_path / "me.pem").write_text("no certificate")
    with pytest.raises(Refused) as refused:
        TlsFiles(**{part: str(tmp_path / "me.pem")}).context()
    assert "holds no certificate or key in PEM, or the password of the key is wrong" in str(refused.value)
    assert "SSL" not in str(refused.value)
