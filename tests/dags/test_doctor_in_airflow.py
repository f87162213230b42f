"""``doctor`` next to a real Airflow: it asks the API as tasks do, and believes what a task has kept of the rest."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kafka_dr.airflow_api import CONNECTION
from lab.airflow_home import connections_file
from support.airflow_lab import AirflowSession
from support.command_line import called

if TYPE_CHECKING:
    from support.airflow_lab import QuickLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]


@pytest.fixture
def admin(airflow: QuickLab) -> AirflowSession:
    """Who may pause DAGs."""
    return AirflowSession(airflow, "admin")


def doctor(lab: QuickLab, folder: Path, *, password: str = "", topology: Path | None = None) -> dict[str, Any]:
    """Return what is not good about Airflow, by the name of the question.

    :param password: of the connection to Airflow's API, instead of its own
    :param topology: another one
    """
    stored = json.loads(connections_file(lab.home).read_text())
    if password:
        stored[CONNECTION]["password"] = password
    file = folder / "connections.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps(stored))
    environ = {**lab.environ, "KAFKA_DR_CONNECTIONS": str(file)}
    if topology is not None:
        environ["KAFKA_DR_TOPOLOGY"] = str(topology)
    said = called("doctor", "--json", "--without", "spark", **environ)
    found = [each for each in said.json["findings"] if each["about"] == "airflow"]
    bad = {each["name"]: each for each in found if each["outcome"] != "ok"}
    assert len(found) > len(bad) or password
    return bad


@pytest.fixture(scope="module")
def _ready(airflow: QuickLab) -> None:
    """Let a task say how its worker is set, whatever it finds of the group."""
    session = AirflowSession(airflow, "admin")
    session.ended("dr_readiness", session.trigger("dr_readiness"))


@pytest.mark.usefixtures("_ready")
def test_a_lab_in_order_has_only_good_answers_once_a_task_was_asked(airflow: QuickLab, tmp_path: Path) -> None:
    assert doctor(airflow, tmp_path) == {}


def test_a_paused_dag_is_named_with_the_command_that_unpauses_it(
    airflow: QuickLab, admin: AirflowSession, tmp_path: Path
) -> None:
    with ExitStack() as end:
        end.callback(admin.unpause, "dr_failback")
        assert admin.http.patch("/api/v2/dags/dr_failback", json={"is_paused": True}).status_code == 200
        found = doctor(airflow, tmp_path)["airflow_dags"]
    assert found["outcome"] == "failed"
    assert "dr_failback is paused" in found["detail"]
    assert found["commands"] == ["airflow dags unpause --yes dr_failback"]


def test_a_login_that_airflow_refuses_is_named(airflow: QuickLab, tmp_path: Path) -> None:
    found = doctor(airflow, tmp_path, password="another")["api"]
    assert found["outcome"] == "failed"
    assert f"Check the login in connection {CONNECTION}" in found["detail"]
    assert found["commands"] == ["airflow users reset-password --username dr-notes"]


@pytest.mark.usefixtures("_ready")
def test_an_approver_who_nobody_knows_and_another_topology_than_that_of_the_workers_are_named(
    airflow: QuickLab, tmp_path: Path
) -> None:
    declared = yaml.safe_load(Path(airflow.environ["KAFKA_DR_TOPOLOGY"]).read_text())
    for group in declared["protection_groups"].values():
        group |= {"approvers": [*group["approvers"], "zoe"], "approver_roles": ["kafka-dr-approver"]}
    other = tmp_path / "topology.yaml"
    other.write_text(yaml.safe_dump(declared))
    found = doctor(airflow, tmp_path, topology=other)
    assert set(found) == {"approvers", "shares topology"}
    assert "nobody in Airflow has the role kafka-dr-approver" in found["approvers"]["detail"]
    assert "see different contents of the topology" in found["shares topology"]["detail"]
