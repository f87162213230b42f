"""A note informs: whatever answers at the API's address, and whatever Airflow says of the connection, no task fails."""

from __future__ import annotations

import json
import logging
import socketserver
import threading
from collections.abc import Iterator
from email.message import Message
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError, URLError

import pytest
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse

from kafka_dr_airflow.run_note import leave_note, noted

CONTEXT = {"ti": SimpleNamespace(dag_id="dr_adopt", run_id="r1")}
LOG = logging.getLogger(__name__)


class NoHttp(socketserver.BaseRequestHandler):
    """Answers as a server of another protocol does."""

    def handle(self) -> None:
        """Say something else."""
        self.request.recv(65536)
        self.request.sendall(b"SSH-2.0-\x1b[2Jother\r\n\r\n")


@pytest.fixture
def stranger() -> Iterator[int]:
    """Return the port of a server that does not speak HTTP."""
    with socketserver.TCPServer(("127.0.0.1", 0), NoHttp) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_what_answers_with_another_protocol_fails_no_task(
    stranger: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection = {"conn_type": "http", "host": "127.0.0.1", "port": stranger, "login": "notes", "password": "p"}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DR_AIRFLOW_API", json.dumps(connection))
    with caplog.at_level(logging.INFO, logger=__name__):
        assert not leave_note(LOG, CONTEXT, "MOVED to west")
    assert "This run gets no note" in caplog.text
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize(
    "error", [AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR)), AirflowException("no backend")]
)
def test_a_connection_that_airflow_cannot_read_fails_no_task(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(_conn_id: str) -> Any:
        raise error

    monkeypatch.setattr(BaseHook, "get_connection", unreadable)
    with noted(LOG, CONTEXT) as note:
        note.append("ADOPTED")
    with pytest.raises(AirflowException, match="the real reason"), noted(LOG, CONTEXT):
        raise AirflowException("the real reason")


@pytest.mark.parametrize(
    ("error", "said", "not_said"),
    [
        (
            TimeoutError("timed out"),
            "Perhaps this run gets no note: Airflow's API did not answer within 5 s.",
            "accept",
        ),
        (URLError(TimeoutError("timed out")), "did not answer within 5 s. Its server may be overloaded", "accept"),
        (HTTPError("u", 401, "Unauthorized", Message(), None), "Check the login in connection", "Perhaps"),
        (HTTPError("u", 403, "Forbidden", Message(), None), "Check the rights of the user in connection", "Perhaps"),
        (HTTPError("u", 503, "Unavailable", Message(), None), "See the log of Airflow's API server", "connection"),
        (URLError(ConnectionRefusedError("refused")), "Check connection kafka_dr_airflow_api", "overloaded"),
    ],
)
def test_the_log_names_what_to_look_at_and_nothing_that_works(
    error: Exception, said: str, not_said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_conn_id: str) -> Any:
        raise error

    monkeypatch.setattr(BaseHook, "get_connection", fails)
    with caplog.at_level(logging.INFO, logger=__name__):
        assert not leave_note(LOG, CONTEXT, "MOVED to west")
    assert said in caplog.text
    assert not_said not in caplog.text
