"""What becomes of the switch of an unplanned failover that is interrupted in a real Airflow: it continues.

The source answers, so that an open transaction holds the switch up before the hand-over, and the group is stable after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

DAG = "dr_unplanned_failover"
GROUP = "orders"


@pytest.fixture
def way(airflow: QuickLab) -> dict[str, str]:
    """From where the group is to where it is not."""
    state = airflow.state("east", GROUP)
    assert state is not None
    return {"source": state.active, "target": state.standby}


def held_up(airflow: QuickLab, session: AirflowSession, way: dict[str, str]) -> str:
    """Start and approve a failover while a transaction is open, and return its run when the source refuses writes."""
    from support import plain_application

    run = session.trigger(
        DAG, protection_group=GROUP, **way, override="a test: the source answers", acknowledged=True, reason="a test"
    )
    fields = {name: field["value"] for name, field in session.question(DAG, run)["params"].items()}
    assert session.answer(DAG, run, "Approve", fields).status_code == 200
    plain_application.wait_refused(airflow, way["source"])
    return run


def assert_moved(airflow: QuickLab, session: AirflowSession, dag: str, run: str, way: dict[str, str]) -> None:
    """The run has succeeded, and applications work on the target and nowhere else."""
    from support import plain_application

    assert session.ended(dag, run) == "success", session.why(dag, run)
    plain_application.assert_works_only_on(airflow, GROUP, way["target"])


@pytest.mark.long
@pytest.mark.parametrize("fate", ["its supervisor is killed", "its worker sleeps and wakes up"])
def test_a_switch_whose_worker_is_lost_continues_after_airflows_heartbeat_timeout(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str], fate: str
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        task = plain_application.executor(airflow, way["target"], GROUP)
        supervisor = task.parent()
        assert supervisor is not None
        sleepers = [supervisor, task] if "sleeps" in fate else []
        try:
            for process in sleepers:
                process.suspend()
            if not sleepers:
                supervisor.kill()
                plain_application.assert_ends_itself(airflow, way["target"], GROUP, task)
            assert_moved(airflow, alice, DAG, run, way)
        finally:
            for process in sleepers:
                process.resume()
    plain_application.assert_gone(task, seconds=60)
    plain_application.assert_works_only_on(airflow, GROUP, way["target"])


@pytest.mark.long
def test_a_switch_that_somebody_clears_while_it_runs_continues(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        alice.clear(DAG, run, ["switch"])
        assert_moved(airflow, alice, DAG, run, way)


@pytest.mark.long
def test_a_switch_that_somebody_marks_as_done_is_found_out_and_rolled_back(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        alice.mark(DAG, run, "switch", "success")
        assert alice.ended(DAG, run) == "failed"
    states = alice.tasks(DAG, run)
    assert (states["switch"], states["verify"], states["roll_back"]) == ("success", "failed", "success"), alice.why(
        DAG, run
    )
    plain_application.assert_works_only_on(airflow, GROUP, way["source"])


@pytest.mark.long
def test_a_run_that_somebody_marks_as_failed_while_it_switches_is_finished_by_a_person(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = held_up(airflow, alice, way)
        alice.fail(DAG, run)
        assert alice.ended(DAG, run) == "failed"
        resumed = alice.trigger(
            "dr_resume", protection_group=GROUP, decision="finish", run=run, reason="marked by hand", confirmed=True
        )
        assert_moved(airflow, alice, "dr_resume", resumed, way)
