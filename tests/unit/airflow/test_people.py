"""People by name and by role, as each auth manager knows them. Keycloak is one that speaks its published contract."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.sdk.api.datamodels._generated import DagRunType

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.people import UNKNOWN_PERSON, Person
from kafka_dr_airflow.operators.receipt import requester_of
from kafka_dr_airflow.people.asking import people_of
from kafka_dr_airflow.people.auth_managers import directory_of, find

USERS = [
    {"id": "0c6f-a", "username": "alice", "enabled": True},
    {"id": "0c6f-b", "username": "bob", "enabled": True},
    {"id": "0c6f-c", "username": "carol", "enabled": False},
    {"id": "0c6f-d", "username": "alice2", "enabled": True},
]


class Realm(BaseHTTPRequestHandler):
    """The two calls of Keycloak's admin API that are needed, of a realm with a role."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        wanted = parse_qs(parts.query)
        if self.headers["Authorization"] != "Bearer of-the-client":
            return self._reply(403, {})
        if parts.path == "/auth/admin/realms/bank/users":
            assert wanted["exact"] == ["true"]
            return self._reply(200, [user for user in USERS if user["username"] == wanted["username"][0]])
        if parts.path == "/auth/admin/realms/bank/roles/dr%20approvers/users":
            return self._reply(200, USERS[1:3])
        return self._reply(404, {"error": "Could not find role"})

    def _reply(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class KeycloakAuthManager:
    """As the provider's: it has a client that logs in by itself."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_keycloak_client(self) -> Any:
        return SimpleNamespace(token=lambda grant_type: {"access_token": self._token})


@pytest.fixture
def keycloak(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), Realm)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/auth/"
    monkeypatch.setenv("AIRFLOW__KEYCLOAK_AUTH_MANAGER__SERVER_URL", address)
    monkeypatch.setenv("AIRFLOW__KEYCLOAK_AUTH_MANAGER__REALM", "bank")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("keycloak")
def test_keycloak_knows_people_by_their_subject() -> None:
    directory = directory_of(KeycloakAuthManager("of-the-client"))
    alice, bob = Person("alice", "0c6f-a"), Person("bob", "0c6f-b")
    assert find(directory, names=["alice", "carol", "nobody"], roles=[]) == (alice,)
    assert find(directory, names=["alice"], roles=["dr approvers", "no such role"]) == (alice, bob)


@pytest.mark.usefixtures("keycloak")
def test_a_keycloak_client_without_the_right_is_refused_with_its_name() -> None:
    with pytest.raises(Refused, match="view-users"):
        find(directory_of(KeycloakAuthManager("of-somebody")), names=["alice"], roles=[])


def test_the_simple_auth_manager_knows_people_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", "alice:op,bob:admin")
    directory = directory_of(SimpleAuthManager())
    alice, bob = Person("alice", "alice"), Person("bob", "bob")
    assert find(directory, names=["alice", "carol"], roles=["admin"]) == (alice, bob)
    assert people_of(["alice"], ["admin"]) == (alice, bob)


def test_another_auth_manager_is_refused_by_its_name() -> None:
    with pytest.raises(Refused, match="the auth manager SimpleNamespace is not known here"):
        directory_of(SimpleNamespace())


def test_a_task_asks_the_api_and_says_what_it_needs_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "airflow.providers.fab.auth_manager.FabAuthManager")
    monkeypatch.setenv(
        "AIRFLOW_CONN_KAFKA_DR_AIRFLOW_API", json.dumps({"conn_type": "http", "host": "127.0.0.1", "port": 1})
    )
    with pytest.raises(TryAgain, match="Airflow's API did not say who the approvers are"):
        people_of(["alice"], [])


@pytest.mark.parametrize(
    ("run", "requester"),
    [
        (SimpleNamespace(triggering_user_name="alice", run_type="manual"), "alice"),
        (SimpleNamespace(triggering_user_name=None, run_type="manual"), UNKNOWN_PERSON),
        (SimpleNamespace(triggering_user_name=None, run_type=DagRunType.MANUAL), UNKNOWN_PERSON),
        (SimpleNamespace(triggering_user_name=None, run_type=DagRunType.OPERATOR_TRIGGERED), ""),
        (SimpleNamespace(triggering_user_name=None, run_type="scheduled"), ""),
        (None, UNKNOWN_PERSON),
    ],
)
def test_the_requester_is_who_airflow_says_triggered_the_run(run: Any, requester: str) -> None:
    assert requester_of({"dag_run": run}) == requester
