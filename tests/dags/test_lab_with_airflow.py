"""A lab with Airflow: all its parts run, people sign in, and no secret of it is shown anywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lab.airflow_services import PROCESSES

if TYPE_CHECKING:
    from lab.api import Lab
    from support.airflow_lab import AirflowSession, QuickLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]


def lines_of_secrets(lab: Lab) -> list[str]:
    """Return every secret of a lab; of one with several lines each line."""
    return [line for secret in json.loads(lab.home.credentials.read_text()).values() for line in secret.splitlines()]


def test_every_process_of_airflow_runs_next_to_brokers_and_connect(airflow: QuickLab) -> None:
    status = airflow.status()
    assert status.running
    assert {process.name for process in status.processes} == {
        *PROCESSES,
        "east-broker-1",
        "east-connect",
        "vantage",
        "west-broker-1",
        "west-connect",
    }


def test_people_sign_in_and_see_the_connections_without_their_secrets(airflow: QuickLab, alice: AirflowSession) -> None:
    reply = alice.http.get("/api/v2/connections?limit=100")
    kinds = {each["connection_id"]: each["conn_type"] for each in reply.json()["connections"]}
    assert kinds["kafka_east_operator"] == "kafka"
    assert kinds["connect_west"] == "http"
    assert kinds["kafka_dr_spark"] == "spark"
    assert kinds["kafka_dr_airflow_api"] == "http"
    assert kinds["kafka_dr_signing"] == kinds["kafka_dr_encryption"] == "generic"
    assert len(kinds) == 16
    assert [secret for secret in lines_of_secrets(airflow) if secret in reply.text] == []


def test_no_process_shows_a_secret_on_its_command_line_or_in_its_environment(airflow: QuickLab) -> None:
    secrets = lines_of_secrets(airflow)
    shown = []
    for name in airflow.supervisor.names():
        for process in airflow.supervisor.members(name):
            visible = " ".join(process.cmdline()) + " ".join(process.environ().values())
            shown += [(name, secret) for secret in secrets if secret in visible]
    assert shown == []


def test_no_log_and_no_status_shows_a_secret(airflow: QuickLab) -> None:
    secrets = lines_of_secrets(airflow)
    places = {"status": json.dumps(airflow.status().as_json())}
    places |= {str(path): path.read_text(errors="replace") for path in airflow.home.logs.glob("*.log*")}
    assert [place for place, text in places.items() if any(secret in text for secret in secrets)] == []
