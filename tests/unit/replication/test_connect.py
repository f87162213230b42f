from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from unittest import mock

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.errors import ConnectionMistake, KafkaDrError, OutcomeUnknown, Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient, ConnectorNotFound, ConnectRefused, ConnectUnreachable, answered
from kafka_dr.replication.connector_status import ConnectorState, ConnectorStatus, TaskStatus


@contextmanager
def served_by(answering: type[BaseHTTPRequestHandler]) -> Iterator[HttpEndpoint]:
    with ThreadingHTTPServer(("127.0.0.1", 0), answering) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield HttpEndpoint(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


@pytest.mark.parametrize(
    ("method", "status", "message", "error"),
    [
        ("PUT", 409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)", TryAgain),
        ("POST", 409, "Connector dr.o.e-to-w already exists", ConnectRefused),
        ("GET", 404, "Connector dr.o.e-to-w not found", ConnectorNotFound),
        ("GET", 404, "No status found for connector dr.o.e-to-w", ConnectorNotFound),
        ("GET", 404, "HTTP 404 Not Found", ConnectUnreachable),
        ("GET", 500, "Request timed out", ConnectUnreachable),
        ("PUT", 500, "Request timed out", OutcomeUnknown),
        ("PATCH", 500, "Failed to read to end of config topic before modifying connector offsets", ConnectUnreachable),
        ("PUT", 503, "starting", ConnectUnreachable),
        ("PATCH", 400, "Connectors must be in the STOPPED state before their offsets can be modified", Refused),
        ("GET", 401, "Unauthorized", ConnectionMistake),
        ("PUT", 403, "Forbidden", ConnectionMistake),
    ],
)
def test_what_connect_answers_becomes_what_the_caller_should_do(
    method: str, status: int, message: str, error: type[KafkaDrError]
) -> None:
    raised = answered(method, status, message, doing="do it", where="http://c")
    assert isinstance(raised, error)
    assert "could not do it" in str(raised)
    assert message in str(raised)


@pytest.mark.parametrize(
    "address",
    ["http://me:hunter22@connect:8083", "https://hunter22@connect", "http://c:1?token=hunter22", "ftp://hunter22@c"],
)
def test_an_address_of_connect_with_a_secret_in_it_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(Refused, match="keep logins and tokens out of it") as refused:
        HttpEndpoint(address)
    assert "hunter22" not in str(refused.value)


def task(state: ConnectorState, number: int = 0) -> TaskStatus:
    return TaskStatus(number, state, "worker")


@pytest.mark.parametrize(
    ("state", "tasks", "expected", "settled"),
    [
        ("stopped", [], 0, "stopped"),
        ("stopped", ["running"], 0, "unknown"),
        ("running", ["running", "running"], 2, "running"),
        ("running", ["running"], 2, "unassigned"),
        ("running", [], 0, "unassigned"),
        ("running", ["running", "unassigned"], 2, "unassigned"),
        ("running", ["running", "failed"], 2, "failed"),
        ("failed", [], 0, "failed"),
        ("paused", ["paused"], 0, "paused"),
        ("absent", [], 0, "absent"),
    ],
)
def test_a_connector_has_settled_when_all_its_tasks_have(
    state: ConnectorState, tasks: list[ConnectorState], expected: int, settled: str
) -> None:
    found = ConnectorStatus("c", state, tuple(task(each) for each in tasks), expected_tasks=expected)
    assert found.settled == settled


def test_a_connector_that_failed_is_not_waited_for_to_run_but_to_stop() -> None:
    failed = ConnectorStatus("c", "stopped", (task("failed"),))
    assert failed.need_not_be_waited_for("running")
    assert not failed.need_not_be_waited_for("stopped"), "its task has not ended yet"
    assert ConnectorStatus("c", "stopped").need_not_be_waited_for("stopped")


def test_a_connect_cluster_that_is_not_there_is_worth_another_try() -> None:
    with (
        ConnectClient(HttpEndpoint("http://127.0.0.1:9"), clock=SystemClock(), request_seconds=1) as connect,
        pytest.raises(TryAgain, match="cannot be reached"),
    ):
        connect.connectors()


def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(HttpEndpoint("http://c", username="u", password="secret"))


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(Refused, match="http://host:port"):
        HttpEndpoint("127.0.0.1:8083")


def test_without_https_no_authorities_are_loaded_and_with_it_those_of_the_system_are() -> None:
    def made(url: str) -> int:
        with mock.patch("ssl.create_default_context", wraps=ssl.create_default_context) as loaded:
            ConnectClient(HttpEndpoint(url), clock=SystemClock()).close()
        return loaded.call_count

    assert made("http://127.0.0.1:1") == 0
    assert made("https://127.0.0.1:1") == 1


def test_what_connect_answered_counts_more_than_its_silence_in_the_moment_that_was_left() -> None:
    """Of a failed connector a worker may answer with an error once, and then not at all."""
    answers = iter([500])

    class Failing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if next(answers, None) is None:
                time.sleep(2)
                return
            self.send_response(500)
            self.end_headers()
            self.wfile.write(b'{"message": "the task has failed"}')

        def log_message(self, *_: object) -> None:
            return

    with served_by(Failing) as endpoint:
        with (
            ConnectClient(endpoint, clock=SystemClock(), request_seconds=0.5) as connect,
            pytest.raises(TryAgain, match="the task has failed"),
        ):
            connect.connectors()
        with (
            ConnectClient(endpoint, clock=SystemClock(), request_seconds=0.5) as connect,
            pytest.raises(TryAgain, match=r"gave no answer within 0\.5 s"),
        ):
            connect.connectors()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            b"<html>\n<head><title>Error 404 Not Found</title></head><body><h2>HTTP ERROR 404</h2></body>",
            "HTTP 404 Not",
        ),
        (b"", "HTTP 404 Not Found"),
        (b'{"message": "org.apache.kafka.connect.errors.NotFoundException: no such path"}', r"404 \(no such path\)"),
    ],
)
def test_a_page_for_browsers_and_a_class_of_java_are_shown_to_nobody(body: bytes, said: str) -> None:
    class Starting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with (
        served_by(Starting) as endpoint,
        ConnectClient(endpoint, clock=SystemClock(), request_seconds=0.5) as connect,
        pytest.raises(KafkaDrError, match=said) as found,
    ):
        connect.offsets("dr.o.e-to-w")
    assert isinstance(found.value, ConnectUnreachable) is (b"message" not in body)
    assert not any(word in str(found.value) for word in ("<", "html", "org.apache", "Exception"))
