"""Connections are read from a private file or from the environment, and no message shows a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import connect_endpoint, kafka_settings, signing_key
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.errors import Refused
from kafka_dr.evidence.signing import SigningKey

KAFKA = {"conn_type": "kafka", "extra": {"bootstrap.servers": "broker:9092"}}


def stored(path: Path, content: Any, mode: int = 0o600) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return path


def test_the_file_comes_before_the_environment(tmp_path: Path) -> None:
    file = stored(tmp_path / "connections.json", {"east": KAFKA})
    environ = {
        "AIRFLOW_CONN_EAST": json.dumps({"extra": {"bootstrap.servers": "other:1"}}),
        "AIRFLOW_CONN_WEST": "kafka://?bootstrap.servers=west%3A9092",
    }
    source = ConnectionSource.read(environ, file)
    assert kafka_settings(source.get("east")).bootstrap_servers == "broker:9092"
    assert kafka_settings(source.get("west")).bootstrap_servers == "west:9092"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = stored(tmp_path / "connections.json", {"east": KAFKA}, mode)
    with pytest.raises(Refused, match=rf"has the mode 0{mode:o}, expected 0600.*chmod 600 {file}"):
        ConnectionSource.read({}, file)


def test_a_file_that_is_only_readable_by_its_owner_is_read(tmp_path: Path) -> None:
    assert ConnectionSource.read({}, stored(tmp_path / "c.json", {"east": KAFKA}, 0o400)).get("east")


def test_a_connection_that_is_nowhere_says_where_it_was_looked_for(tmp_path: Path) -> None:
    file = stored(tmp_path / "connections.json", {})
    with pytest.raises(Refused, match=f"connection east is not known: {file} and the variable AIRFLOW_CONN_EAST is"):
        ConnectionSource.read({}, file).get("east")
    with pytest.raises(Refused, match="KAFKA_DR_CONNECTIONS names no file"):
        ConnectionSource.read({}).get("east")


@pytest.mark.parametrize("content", ["{", "[]", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")])
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(Refused, match="connections"):
        ConnectionSource.read({}, stored(tmp_path / "connections.json", content))


@pytest.mark.parametrize(
    "value",
    [
        '{"password": "open sesame"',
        "open sesame",
        "a://b://c://open sesame",
        "http://login:open sesame@https://host",
        '{"pasword": "open sesame"}',
        '{"port": "open sesame"}',
        '{"extra": "open sesame"}',
        "kafka://?__extra__=open+sesame",
        "http://host:open sesame",
    ],
)
def test_a_connection_that_cannot_be_read_is_named_and_its_value_is_not_shown(value: str) -> None:
    with pytest.raises(Refused, match="connection east cannot be read") as refused:
        Connection.of("east", value)
    assert "sesame" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_no_text_of_a_connection_shows_its_secrets() -> None:
    whole = {"login": "dr", "password": "open sesame", "extra": {"sasl.password": "open sesame"}}
    source = ConnectionSource({"AIRFLOW_CONN_EAST": json.dumps(whole)}, {"west": whole})
    assert "sesame" not in repr(source) + repr(source.get("east"))


def test_a_connection_becomes_the_address_of_connect_or_the_key_that_signs(tmp_path: Path) -> None:
    endpoint = connect_endpoint(Connection.of("connect", "http://https://dr:open%20sesame@connect:8083"))
    assert (endpoint.base_url, endpoint.username, endpoint.password) == ("https://connect:8083", "dr", "open sesame")
    key = SigningKey.generate()
    inline = Connection.of("key", {"extra": {"private_key": key.private_pem}})
    in_file = Connection.of("key", {"extra": {"private_key_file": str(stored(tmp_path / "k.pem", key.private_pem))}})
    assert signing_key(inline).public_pem == signing_key(in_file).public_pem == key.public_pem
