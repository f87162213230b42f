"""A drill in a real Airflow: an approver triggers it and it passes; nobody else may; what is killed is removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from support.waiting import eventually

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

DAG = "dr_drill"
GROUP = "orders"


def kept(airflow: QuickLab) -> dict[str, dict[str, object]]:
    """Return the results of all drills, by id."""
    folder = Path(airflow.home.root) / "evidence" / "drills" / GROUP
    return {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/result.json")}


def left(airflow: QuickLab) -> set[str]:
    """Return the topics of drills that are on any cluster."""
    from confluent_kafka.admin import AdminClient

    found: set[str] = set()
    for cluster in ("east", "west"):
        with AdminClient(dict(airflow.client_settings(cluster, "admin"))) as admin:
            found |= {name for name in admin.list_topics(timeout=15).topics if "drill" in name}
    return found


def names(airflow: QuickLab) -> set[str]:
    """Return the names of the groups of drills that are there."""
    return {name.rpartition(".")[0] for name in left(airflow)}


def wait_for_claim(airflow: QuickLab) -> str:
    """Wait until a run of a drill has begun to move its group, and return the cluster whose register says so."""

    def claimed() -> bool:
        states = [airflow.state(cluster, name) for name in names(airflow) for cluster in ("east", "west")]
        return any(state is not None and state.executor for state in states)

    eventually(claimed, seconds=180)
    (name,) = names(airflow)
    held = [cluster for cluster in ("east", "west") if (state := airflow.state(cluster, name)) and state.executor]
    return held[0]


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_an_approver_triggers_a_drill_and_its_note_says_how_it_ended(airflow: QuickLab, alice: AirflowSession) -> None:
    run = alice.trigger(DAG, protection_group=GROUP, kind="planned")
    ended = alice.ended(DAG, run)
    (result,) = kept(airflow).values()
    # On a busy machine an objective may be missed: then the run is red, and says which one.
    assert result["legs"], alice.why(DAG, run)
    assert (ended == "success") is result["passed"], alice.why(DAG, run)
    assert (result["stage"], result["approved_by"], result["requested_by"]) == ("ended", "alice", "alice")
    assert str(alice.note(DAG, run)).startswith("PASSED" if result["passed"] else "NOT PASSED")
    assert alice.tasks(DAG, run)["teardown"] == "success"
    assert left(airflow) == set()


@pytest.mark.usefixtures("unchanged")
def test_a_drill_of_nobody_who_may_approve_it_does_not_begin(airflow: QuickLab) -> None:
    from support.airflow_lab import AirflowSession

    carol = AirflowSession(airflow, "carol")
    before = kept(airflow)
    run = carol.trigger(DAG, protection_group=GROUP, kind="planned")
    assert carol.ended(DAG, run) == "failed"
    states = carol.tasks(DAG, run)
    assert (states["begin"], states["result"]) == ("failed", "failed"), states
    assert states["drill"] == states["teardown"] == "upstream_failed", states
    assert "carol is not an approver of the group: let an approver trigger it" in carol.log(DAG, run, "begin")
    assert kept(airflow) == before
    assert left(airflow) == set()


def assert_no_page_says_that_it_runs(alice: AirflowSession, page: Page) -> None:
    """Airflow notices the death of a worker later than a page does, and only then removes what the drill made."""
    base = str(alice.http.base_url)

    def shown(path: str) -> str:
        page.go("about:blank")
        page.go(f"{base}/kafka-dr/{path}")
        page.wait("document.readyState === 'complete' && document.querySelector('main')")
        return page.text()

    page.log_in(base, alice.token)
    eventually(lambda: "STOPPED" in shown(f"groups/{GROUP}"), seconds=90)
    of_group, status = shown(f"groups/{GROUP}"), shown("status?reload=false")
    assert "stopped, and no process executes it any more" in of_group, of_group
    assert "has not ended" not in of_group, of_group
    assert "NO SIGN OF LIFE" in status, status
    assert "A drill of this group runs" not in status, status


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("fate", ["its worker is killed", "its machine dies", "a person marks the run as failed"])
def test_a_drill_that_is_ended_in_the_middle_is_removed_and_red(
    airflow: QuickLab, alice: AirflowSession, page: Page, fate: str
) -> None:
    from support import plain_application

    before = set(kept(airflow))
    run = alice.trigger(DAG, protection_group=GROUP, kind="planned")
    if fate == "its worker is killed":
        task = plain_application.executor(airflow, wait_for_claim(airflow), names(airflow).pop())
        task.kill()
        psutil.wait_procs([task], timeout=60)
    elif fate == "its machine dies":
        task = plain_application.executor(airflow, wait_for_claim(airflow), names(airflow).pop())
        supervisor = task.parent()
        assert supervisor is not None
        for process in (supervisor, task):
            process.kill()
        assert_no_page_says_that_it_runs(alice, page)
    else:
        wait_for_claim(airflow)
        alice.fail(DAG, run)
    assert alice.ended(DAG, run, seconds=600) == "failed"
    eventually(lambda: alice.tasks(DAG, run)["teardown"] in ("success", "failed"), seconds=180)
    states = alice.tasks(DAG, run)
    assert (states["drill"], states["teardown"]) == ("failed", "success"), alice.why(DAG, run)
    (drill,) = set(kept(airflow)) - before
    assert kept(airflow)[drill]["why"] == ["its process ended before anything was measured"]
    assert left(airflow) == set()
