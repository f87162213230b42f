"""What has to be set in Airflow has a line of its own each, where the DAGs load and in readiness."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from kafka_dr_airflow.airflow_settings import judged, judged_with_api, warn_of_settings
from support.sentences import assert_sentence

GOOD = {
    "CORE__SENSITIVE_VAR_CONN_NAMES": "token, ssl.key.pem,sasl.jaas.config",
    "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
    "CORE__DAGBAG_IMPORT_TIMEOUT": "30.0",
    "WORKERS__EXECUTION_API_RETRIES": "10",
    "CORE__PARALLELISM": "8",
}
BAD = {
    "CORE__SENSITIVE_VAR_CONN_NAMES": ("ssl.key.pem", "airflow_hides_secrets"),
    "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": ("61", "airflow_notices_lost_workers"),
    "CORE__DAGBAG_IMPORT_TIMEOUT": ("29", "airflow_loads_dags"),
    "WORKERS__EXECUTION_API_RETRIES": ("9", "airflow_tasks_wait_for_its_api"),
    "CORE__PARALLELISM": ("7", "airflow_parallelism"),
}


@pytest.fixture(autouse=True)
def _good(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GOOD.items():
        monkeypatch.setenv(f"AIRFLOW__{name}", value)


def test_what_is_set_as_it_should_be_is_ok_and_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert {check.outcome for check in judged()} == {"ok"}
    warn_of_settings(logging.getLogger("dags"))
    assert caplog.records == []


@pytest.mark.parametrize("option", BAD)
@pytest.mark.parametrize("damaged", [False, True])
def test_each_setting_has_its_own_line_that_names_the_option_and_what_to_set(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, option: str, damaged: bool
) -> None:
    value, name = BAD[option]
    value = "many" if damaged else value
    monkeypatch.setenv(f"AIRFLOW__{option}", value)
    (found,) = (check for check in judged() if check.outcome != "ok")
    assert (found.name, found.outcome) == (name, "warning")
    assert_sentence(found.detail)
    warn_of_settings(logging.getLogger("dags"))
    assert [record.getMessage() for record in caplog.records] == [found.detail]


def test_airflows_defaults_lack_three_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in GOOD:
        monkeypatch.delenv(f"AIRFLOW__{name}")
    assert [check.name for check in judged() if check.outcome != "ok"] == [
        "airflow_hides_secrets",
        "airflow_notices_lost_workers",
        "airflow_tasks_wait_for_its_api",
    ]


@pytest.mark.parametrize(
    ("status", "slots", "said"),
    [
        (200, 128, ("ok", "ok")),
        (200, -1, ("ok", "ok")),
        (200, 7, ("ok", "warning")),
        (403, 0, ("warning", "excused")),
    ],
)
def test_airflows_api_says_whether_it_gives_out_answers_and_how_large_the_pool_is(
    monkeypatch: pytest.MonkeyPatch, status: int, slots: int, said: tuple[str, str]
) -> None:
    with answering(status, slots) as port:
        connection = {"conn_type": "http", "host": "127.0.0.1", "port": port, "login": "n", "password": "secret"}
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DR_AIRFLOW_API", json.dumps(connection))
        found = {check.name: check.outcome for check in judged_with_api()}
    assert (found["airflow_keeps_quick_answers"], found["airflow_pool"]) == said


def test_without_the_connection_it_is_said_what_a_quick_answer_does() -> None:
    found = {check.name: check for check in judged_with_api()}
    quick = found["airflow_keeps_quick_answers"]
    assert (quick.outcome, found["airflow_pool"].outcome) == ("warning", "excused")
    assert_sentence(quick.detail)


@contextmanager
def answering(status: int, slots: int) -> Iterator[int]:
    """Let a server log in and answer as Airflow's API does, and return its port."""

    class AirflowAnswers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._say(201, {"access_token": "t"})

        def do_GET(self) -> None:
            self._say(status, {"slots": slots, "hitl_details": []})

        def _say(self, code: int, body: dict[str, object]) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), AirflowAnswers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
