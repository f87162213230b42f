"""Airflow's connections become settings, and a wrong one says which it is."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from kafka_dr.errors import Refused
from kafka_dr_airflow.hooks.connect import ConnectHook
from kafka_dr_airflow.hooks.kafka_cluster import KafkaClusterHook

SCRAM = {
    "bootstrap.servers": "broker-1:9093,broker-2:9093",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "dr-operator",
    "sasl.password": "open sesame",
    "ssl.ca.location": "/etc/ssl/ca.pem",
}


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what stores a ``kafka`` connection and returns its hook."""

    def stored(**extra: str) -> KafkaClusterHook:
        monkeypatch.setenv("AIRFLOW_CONN_EAST_OPERATOR", json.dumps({"conn_type": "kafka", "extra": extra}))
        return KafkaClusterHook("east_operator")

    return stored


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what stores an ``http`` connection and returns its hook."""

    def stored(**fields: object) -> ConnectHook:
        monkeypatch.setenv("AIRFLOW_CONN_CONNECT_EAST", json.dumps({"conn_type": "http", **fields}))
        return ConnectHook("connect_east")

    return stored


def test_a_kafka_connection_becomes_client_settings(kafka: Any) -> None:
    settings = kafka(**SCRAM).settings()
    assert settings.librdkafka() == SCRAM


def test_a_password_is_not_in_the_settings_text(kafka: Any) -> None:
    assert "open sesame" not in repr(kafka(**SCRAM).settings())


@pytest.mark.parametrize("key", ["sasl.password", "ssl.key.password", "sasl.jaas.config", "ssl.key.pem"])
def test_secrets_are_masked_in_logs(kafka: Any, key: str) -> None:
    from airflow.sdk._shared.secrets_masker import redact

    secret = f"never-show-{key}"
    with suppress(Refused):
        kafka(**{**SCRAM, key: secret}).settings()
    assert secret not in str(redact(f"it was {secret}"))


def test_a_cluster_is_opened_under_its_name_in_the_topology(kafka: Any) -> None:
    with kafka(**SCRAM).cluster("east") as cluster:
        assert cluster.name == "east"
        assert cluster.settings.username == "dr-operator"


@pytest.mark.parametrize(
    ("extra", "missing"),
    [
        ({}, "bootstrap.servers"),
        ({"bootstrap.servers": "b:1", "security.protocol": "TELNET"}, "security.protocol"),
        ({"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL"}, "sasl.mechanism"),
    ],
)
def test_a_wrong_kafka_connection_is_named_with_what_is_wrong(kafka: Any, extra: dict[str, str], missing: str) -> None:
    with pytest.raises(Refused, match=f"connection east_operator: .*{missing}"):
        kafka(**extra).settings()


@pytest.mark.parametrize(
    ("fields", "base_url"),
    [
        ({"host": "connect", "port": 8083}, "http://connect:8083"),
        ({"host": "connect", "port": 8083, "schema": "https"}, "https://connect:8083"),
        ({"host": "https://connect", "port": 8443}, "https://connect:8443"),
        ({"host": "https://connect/"}, "https://connect"),
    ],
)
def test_an_http_connection_becomes_the_endpoint_of_connect(
    connect: Any, fields: dict[str, object], base_url: str
) -> None:
    endpoint = connect(**fields).endpoint()
    assert endpoint.base_url == base_url
    assert (endpoint.username, endpoint.password) == (None, None)


def test_the_login_of_connect_is_kept_out_of_its_text(connect: Any) -> None:
    endpoint = connect(host="connect", login="dr", password="open sesame").endpoint()
    assert (endpoint.username, endpoint.password) == ("dr", "open sesame")
    assert "open sesame" not in repr(endpoint)


def test_an_http_connection_without_a_host_is_refused(connect: Any) -> None:
    with pytest.raises(Refused, match="connection connect_east has no host"):
        connect().endpoint()
