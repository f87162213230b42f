"""The contract of whatever holds connections: Airflow, a private file, the environment, and what a parent handed over.

It is with the tests of Airflow, because these set up a folder of settings before Airflow is imported.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import BaseHook
from airflow.sdk._shared.secrets_masker import redact

from kafka_dr.connections.port import Connections
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.errors import Refused
from kafka_dr.evidence.known_secrets import KnownSecrets
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.topology.model import Topology
from kafka_dr_airflow.hooks.connections import CONNECTIONS, from_airflow

ID = "east_7"
SCRAM = {
    "bootstrap.servers": "broker-1:9093,broker-2:9093",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "dr-operator",
    "sasl.password": "open sesame",
    "ssl.ca.location": "/etc/ssl/ca.pem",
}
Hold = Callable[..., Connections]


@pytest.fixture(params=["airflow", "file", "environment", "handed over"])
def hold(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hold:
    """Return what stores a connection where these are held, and returns all of them."""

    def held(**fields: object) -> Connections:
        stored, environ = json.dumps(fields), f"AIRFLOW_CONN_{ID.upper()}"
        if request.param == "environment":
            return Connections.stored(ConnectionSource.read({environ: stored} if fields else {}).get)
        if request.param == "file":
            file = tmp_path / "connections.json"
            file.touch(mode=0o600)
            file.write_text(json.dumps({ID: fields} if fields else {}))
            return Connections.stored(ConnectionSource.read({}, file).get)
        if fields:
            monkeypatch.setenv(environ, stored)
        if request.param == "airflow":
            return CONNECTIONS
        evidence = SimpleNamespace(signing_connection=ID, encryption_connection=None)
        topology = cast("Topology", SimpleNamespace(evidence=evidence, observed_flows={}))
        return Connections.stored(pickle.loads(pickle.dumps(AccessData.read(topology, [], from_airflow))).get)  # noqa: S301

    return held


def test_a_kafka_connection_becomes_client_settings(hold: Hold) -> None:
    settings = hold(conn_type="kafka", extra=SCRAM).kafka(ID)
    assert settings.librdkafka() == SCRAM
    assert settings.connection == ID
    assert "open sesame" not in repr(settings)


@pytest.mark.parametrize(
    ("extra", "missing"),
    [
        ({}, "bootstrap.servers"),
        ({"bootstrap.servers": "b:1", "security.protocol": "TELNET"}, "security.protocol"),
        ({"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL"}, "sasl.mechanism"),
    ],
)
def test_a_wrong_kafka_connection_is_named_with_what_is_wrong(hold: Hold, extra: dict[str, str], missing: str) -> None:
    with pytest.raises(Refused, match=f"connection {ID}: .*{missing}"):
        hold(conn_type="kafka", extra=extra).kafka(ID)


@pytest.mark.parametrize(
    ("fields", "base_url"),
    [
        ({"host": "connect", "port": 8083}, "http://connect:8083"),
        ({"host": "connect", "port": 8083, "schema": "https"}, "https://connect:8083"),
        ({"host": "https://connect", "port": 8443}, "https://connect:8443"),
        ({"host": "https://connect/"}, "https://connect"),
    ],
)
def test_an_http_connection_becomes_the_address_of_a_service(
    hold: Hold, fields: dict[str, object], base_url: str
) -> None:
    endpoint = hold(conn_type="http", **fields).http(ID)
    assert endpoint.base_url == base_url
    assert (endpoint.username, endpoint.password, endpoint.token) == (None, None, None)


def test_the_login_of_a_service_is_kept_out_of_its_text(hold: Hold) -> None:
    endpoint = hold(conn_type="http", host="connect", login="dr", password="open sesame").http(ID)
    assert (endpoint.username, endpoint.password) == ("dr", "open sesame")
    assert "open sesame" not in repr(endpoint)


def test_an_http_connection_without_a_host_is_refused(hold: Hold) -> None:
    with pytest.raises(Refused, match=f"connection {ID} has no host"):
        hold(conn_type="http").http(ID)


def test_a_token_and_a_key_may_be_in_files(hold: Hold, tmp_path: Path) -> None:
    token, pem, key = tmp_path / "token", tmp_path / "key.pem", SigningKey.generate()
    token.write_text("a-token-of-the-office\n")
    pem.write_text(key.private_pem)
    extra = {"bearer_token_file": str(token), "private_key_file": str(pem)}
    held = hold(conn_type="http", host="https://office", extra=extra)
    assert held.http(ID).headers == {"Authorization": "Bearer a-token-of-the-office"}
    assert held.signing_key(ID).public_pem == key.public_pem


@pytest.mark.parametrize("entry", ["bearer_token_file", "private_key_file"])
def test_a_file_that_cannot_be_read_is_named(hold: Hold, entry: str) -> None:
    with pytest.raises(Refused, match=rf"connection {ID}: the .* /nowhere/secret cannot be read"):
        hold(conn_type="http", host="https://office", extra={entry: "/nowhere/secret"}).http(ID)


def test_a_connection_of_any_type_holds_the_key_that_signs(hold: Hold) -> None:
    key = SigningKey.generate()
    assert (
        hold(conn_type="generic", extra={"private_key": key.private_pem}).signing_key(ID).public_pem == key.public_pem
    )


@pytest.mark.parametrize(
    ("extra", "said"), [({}, "holds no signing key: write private_key"), ({"private_key": "sesame"}, "")]
)
def test_a_connection_without_a_usable_key_is_named_and_nothing_of_it_is_shown(
    hold: Hold, extra: dict[str, str], said: str
) -> None:
    with pytest.raises(Refused, match=f"connection {ID}.*{said}") as refused:
        hold(conn_type="generic", extra=extra).signing_key(ID)
    assert "sesame" not in str(refused.value)


def test_a_connection_of_any_type_holds_the_keys_of_content(hold: Hold) -> None:
    now, before = bytes(range(32)), bytes(range(1, 33))
    text = base64.b64encode(now).decode()
    stored = hold(conn_type="generic", login="second", password=text, extra={"former_keys": {"first": before.hex()}})
    found = stored.content_keys(ID)
    assert (found.current, found.keys) == ("second", {"second": now, "first": before})
    assert text not in repr(found)


@pytest.mark.parametrize("fields", [{"password": "sesame"}, {"login": "second", "password": "sesame"}])
def test_content_keys_that_cannot_be_used_are_named_and_not_shown(hold: Hold, fields: dict[str, str]) -> None:
    with pytest.raises(Refused, match=f"connection {ID}: .*login is its name, password the key") as refused:
        hold(conn_type="generic", **fields).content_keys(ID)
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("ask", ["kafka", "http", "signing_key", "content_keys", "tsig"])
def test_a_connection_that_nobody_created_is_refused_by_name(hold: Hold, ask: str) -> None:
    with pytest.raises(Refused, match=ID):
        getattr(hold(), ask)(ID)


def test_each_secret_is_hidden_before_anybody_has_it_and_no_text_shows_one(hold: Hold, tmp_path: Path) -> None:
    key, content = SigningKey.generate(), base64.b64encode(bytes(range(32))).decode()
    former = bytes(range(9, 41)).hex()
    extra = {
        **SCRAM,
        "ssl.key.password": "of-the-key-file",
        "private_key": key.private_pem,
        "former_keys": {"first": former},
    }
    kafka = {name: text for name, text in extra.items() if name not in ("private_key", "former_keys")}
    known = KnownSecrets()
    for wanted, fields in (
        ("kafka", {"conn_type": "kafka", "extra": kafka}),
        ("http", {"conn_type": "http", "host": "https://office", "login": "dr", "password": "of-the-service"}),
        ("signing_key", {"conn_type": "generic", "extra": extra}),
        ("content_keys", {"conn_type": "generic", "login": "second", "password": content, "extra": extra}),
        ("tsig", {"conn_type": "generic", "login": "kafka-dr", "password": content}),
    ):
        held = hold(**fields).hidden(known.add)
        shown = repr(held) + repr(getattr(held, wanted)(ID))
        assert not any(each in shown for each in ("open sesame", "of-the", content, former))
    inside = "".join(key.private_pem.splitlines()[1:-1])
    for secret in ("open sesame", "of-the-key-file", "of-the-service", inside, content, former):
        assert known.inside(f"it was {secret}"), secret


# What Airflow alone does: it masks in logs, and has errors of its own.


@pytest.mark.parametrize(
    "entry", ["sasl.password", "ssl.key.password", "sasl.jaas.config", "ssl.key.pem", "private_key", "bearer_token"]
)
def test_a_secret_of_the_extra_is_masked_in_logs_also_if_it_is_refused(
    entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = f"never-show-{entry}"
    stored = {"conn_type": "kafka", "extra": {**SCRAM, entry: secret}}
    monkeypatch.setenv(f"AIRFLOW_CONN_{ID.upper()}", json.dumps(stored))
    from_airflow(ID)
    assert secret not in str(redact(f"it was {secret}"))


def test_secrets_in_files_and_former_keys_are_masked_in_logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("never-show-token-of-file")
    extra = {"bearer_token_file": str(token), "former_keys": {"first": "never-show-former-key"}}
    stored = {"conn_type": "http", "password": "never-show-current-key", "extra": extra}
    monkeypatch.setenv(f"AIRFLOW_CONN_{ID.upper()}", json.dumps(stored))
    from_airflow(ID)
    assert "never-show" not in str(redact("never-show-token-of-file never-show-former-key never-show-current-key"))


class NotFoundInAirflow(Exception):
    """Airflow's own error for a connection is no error of this project."""


def test_an_error_of_airflow_names_the_connection_and_its_text_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(conn_id: str) -> Any:
        raise NotFoundInAirflow(f"{conn_id}: http://me:open-sesame@office")

    monkeypatch.setattr(BaseHook, "get_connection", fails)
    with pytest.raises(Refused, match=rf"connection {ID} cannot be read: create") as refused:
        CONNECTIONS.http(ID)
    assert "sesame" not in str(refused.value)
    assert refused.value.__cause__ is None
