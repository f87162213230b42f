"""Without Airflow a connection means what it means in Airflow: both read the same text in the same way."""

from __future__ import annotations

import json

import pytest
from airflow.sdk import Connection as AirflowConnection
from hypothesis import given
from hypothesis import strategies as some

from kafka_dr.connections.connection import Connection

_TEXT = some.text(some.characters(exclude_categories=("Cs", "Cc")), max_size=12)
_FILLED = some.text(some.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


def in_airflow(value: str) -> AirflowConnection:
    text = value.strip()
    if text.startswith("{"):
        return AirflowConnection.from_json(text, conn_id="east")
    return AirflowConnection.from_uri(text, conn_id="east")


def same(value: str) -> None:
    ours, theirs = Connection.of("east", value), in_airflow(value)
    for name in ("conn_type", "host", "schema", "login", "password"):
        assert getattr(ours, name) == (getattr(theirs, name) or ""), name
    assert ours.port == (theirs.port or None)
    assert ours.extra == theirs.extra_dejson


@pytest.mark.parametrize(
    "value",
    [
        "http://connect:8083",
        "http://dr:open%20sesame@connect:8083/https",
        "http://https://connect:8443",
        "http://https://dr:p%40ss@Connect.example.com:8443/path?timeout=5",
        "kafka://?bootstrap.servers=a%3A1%2Cb%3A1&security.protocol=SASL_SSL",
        "kafka:///?__extra__=%7B%22bootstrap.servers%22%3A%20%22a%3A1%22%2C%20%22n%22%3A%201%7D",
        "google-cloud-platform://?x=",
        "http://%2Ftmp%2FSocket",
        "http://:secret@host",
        "  kafka://  ",
        '{"conn_type": "kafka", "extra": {"bootstrap.servers": "a:1"}}',
        '{"conn_type": "kafka", "extra": "{\\"bootstrap.servers\\": \\"a:1\\"}"}',
        '{"conn_type": "http", "host": "https://connect", "port": "8443", "login": "dr", "password": "p@ss"}',
        '{"conn_type": "http", "host": "connect", "port": 0, "schema": "https", "description": "Connect"}',
    ],
)
def test_one_text_means_the_same(value: str) -> None:
    same(value)


@given(
    host=some.from_regex(r"(https?://)?[A-Za-z][A-Za-z0-9.-]{0,10}", fullmatch=True),
    port=some.none() | some.integers(1, 65535),
    schema=some.sampled_from(["", "http", "https"]),
    login=some.none() | _FILLED,
    password=some.none() | _FILLED,
    extra=some.dictionaries(_FILLED, _TEXT | some.integers() | some.booleans(), max_size=3),
)
def test_what_airflow_writes_as_a_uri_is_read_in_the_same_way(
    host: str, port: int | None, schema: str, login: str | None, password: str | None, extra: dict[str, object]
) -> None:
    written = AirflowConnection(
        conn_id="east",
        conn_type="kafka",
        host=host,
        port=port,
        schema=schema or None,
        login=login,
        password=password,
        extra=json.dumps(extra) if extra else None,
    )
    same(written.get_uri())
    same(written.as_json())
