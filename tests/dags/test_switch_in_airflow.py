"""What becomes of a switch in a real Airflow: a step fails, a person interferes, its worker or Airflow is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

DAG = "dr_planned_failover"
GROUP = "orders"
AFTER_APPROVAL = ("switch", "verify", "start_reverse_flow", "report", "roll_back")


def approved(session: AirflowSession, *, source: str, target: str) -> str:
    """Start a failover, approve it, and return its run."""
    run = session.trigger(DAG, protection_group=GROUP, source=source, target=target, reason="a test")
    fields = {name: field["value"] for name, field in session.question(DAG, run)["params"].items()}
    assert session.answer(DAG, run, "Approve", fields).status_code == 200
    return run


@pytest.fixture
def way(airflow: QuickLab) -> dict[str, str]:
    """From where the group is to where it is not."""
    state = airflow.state("east", GROUP)
    assert state is not None
    return {"source": state.active, "target": state.standby}


def test_a_step_that_fails_after_the_claim_is_rolled_back_and_applications_stay_where_they_were(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.above_all_fences(airflow, way["source"]):
        run = approved(alice, **way)
        assert alice.ended(DAG, run) == "failed"

    states = alice.tasks(DAG, run)
    ran = {"switch": "failed", "roll_back": "success"}
    assert {name: states[name] for name in AFTER_APPROVAL} == dict.fromkeys(AFTER_APPROVAL, "upstream_failed") | ran, (
        states
    )
    assert "A principal that the fence does not cover writes there" in alice.log(DAG, run, "switch")
    assert f"{GROUP} is stable on {way['source']} again" in alice.log(DAG, run, "roll_back")
    assert str(alice.note(DAG, run)).startswith(f"ROLLED BACK: {GROUP} is stable on {way['source']} again")
    plain_application.assert_works_only_on(airflow, GROUP, way["source"])


def held_up(airflow: QuickLab, session: AirflowSession, way: dict[str, str]) -> str:
    """Start and approve a failover while a transaction is open, and return its run when it refuses writes."""
    from support import plain_application

    run = approved(session, **way)
    plain_application.wait_refused(airflow, way["source"])
    return run


def assert_rolled_back(airflow: QuickLab, session: AirflowSession, run: str, way: dict[str, str], **ends: str) -> None:
    """The run is red, and applications work on the source and nowhere else."""
    from support import plain_application

    assert session.ended(DAG, run) == "failed"
    states = session.tasks(DAG, run)
    assert {name: states[name] for name in ends} == ends, session.why(DAG, run)
    assert states["roll_back"] == "success", session.why(DAG, run)
    plain_application.assert_works_only_on(airflow, GROUP, way["source"])


def test_a_switch_that_somebody_marks_as_done_is_found_out_and_rolled_back(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        alice.mark(DAG, run, "switch", "success")
        assert alice.ended(DAG, run) == "failed"
    assert_rolled_back(airflow, alice, run, way, switch="success", verify="failed", report="upstream_failed")


@pytest.mark.long
def test_a_switch_that_somebody_clears_while_it_runs_is_rolled_back(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        alice.clear(DAG, run, ["switch"])
        assert alice.ended(DAG, run) == "failed"
    assert_rolled_back(airflow, alice, run, way, switch="failed", verify="upstream_failed")
    assert "another process of this run began the switch" in alice.log(DAG, run, "switch", attempt=2)


@pytest.mark.long
@pytest.mark.parametrize("fate", ["its supervisor is killed", "its worker sleeps and wakes up"])
def test_a_switch_whose_worker_is_lost_is_rolled_back_after_airflows_heartbeat_timeout(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str], fate: str
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        task = plain_application.executor(airflow, way["source"], GROUP)
        supervisor = task.parent()
        assert supervisor is not None
        sleepers = [supervisor, task] if "sleeps" in fate else []
        try:
            for process in sleepers:
                process.suspend()
            if not sleepers:
                supervisor.kill()
                plain_application.assert_ends_itself(airflow, way["source"], GROUP, task)
            assert alice.ended(DAG, run) == "failed"
        finally:
            for process in sleepers:
                process.resume()
    plain_application.assert_gone(task, seconds=60)
    assert_rolled_back(airflow, alice, run, way, switch="failed", verify="upstream_failed")


def test_a_run_that_somebody_marks_as_failed_while_it_switches_is_abandoned_by_a_person(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        alice.fail(DAG, run)
        assert alice.ended(DAG, run) == "failed"
        resumed = alice.trigger(
            "dr_resume", protection_group=GROUP, decision="abandon", run=run, reason="marked by hand", confirmed=True
        )
        assert alice.ended("dr_resume", resumed) == "success", alice.why("dr_resume", resumed)
    plain_application.assert_works_only_on(airflow, GROUP, way["source"])
    assert str(alice.note("dr_resume", resumed)).startswith("ABANDONED: ")


@pytest.mark.usefixtures("unchanged")
def test_there_is_nothing_to_resume_where_no_run_holds_the_group(alice: AirflowSession) -> None:
    resumed = alice.trigger("dr_resume", protection_group=GROUP, decision="abandon", reason="its Airflow is gone")
    assert alice.ended("dr_resume", resumed) == "failed"
    assert "no run holds it, so there is nothing to resume" in alice.log("dr_resume", resumed, "resume")


@pytest.mark.parametrize(
    ("decision", "ends_on", "verdict"),
    [
        pytest.param("abandon", "source", "Rolled back", marks=pytest.mark.long),
        pytest.param("finish", "target", "Completed", marks=pytest.mark.long),
    ],
)
def test_a_run_that_died_with_its_airflow_is_ended_from_the_register_alone(
    airflow: QuickLab,
    alice: AirflowSession,
    way: dict[str, str],
    decision: str,
    ends_on: str,
    verdict: str,
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        airflow.lose_airflow()
    airflow.up()

    left = airflow.state(way["source"], GROUP)
    assert left is not None
    assert (left.phase, left.run) == ("switching", run)
    assert alice.runs(DAG) == {}
    assert plain_application.refusal(airflow, way["source"]) == "TOPIC_AUTHORIZATION_FAILED"

    reason = "its Airflow is gone"
    resumed = alice.trigger(
        "dr_resume", protection_group=GROUP, decision=decision, run=run, reason=reason, confirmed=True
    )
    assert alice.ended("dr_resume", resumed) == "success", alice.why("dr_resume", resumed)
    plain_application.assert_works_only_on(airflow, GROUP, way[ends_on])
    assert f"on {way[ends_on]}" in alice.log("dr_resume", resumed, "resume")
    assert str(alice.note("dr_resume", resumed)).startswith(
        {"abandon": "ABANDONED: ", "finish": "FINISHED: "}[decision]
    )
    evidence = alice.links("dr_resume", resumed, "resume")["Evidence"]
    assert evidence == f"/kafka-dr/evidence/{GROUP}/{run}"
    page = alice.http.get(evidence).text
    for words in (verdict, "a test", reason, "Sealed"):
        assert words in page


def test_no_password_of_the_lab_is_in_airflows_logs(airflow: QuickLab) -> None:
    passwords = {
        airflow.client_settings(cluster, principal)["sasl.password"]
        for cluster in ("east", "west")
        for principal in ("dr-operator", "probe", "audit", "replicator")
    }
    logs = [path for path in (airflow.home.airflow / "logs").rglob("*.log") if path.is_file()]
    assert logs
    assert not [path for path in logs for secret in passwords if secret in Path(path).read_text(errors="replace")]
