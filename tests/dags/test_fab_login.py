"""Where Airflow has the FAB auth manager: a person logs in on its page, in a real Chromium, and answers on ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from support.browser import button, chromium, link

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession
    from support.browser import Page
    from support.fab_lab import FabLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]

DAG, GROUP, STATUS = "dr_planned_failover", "orders", "/kafka-dr/status"


@pytest.fixture
def person(fab: FabLab) -> AirflowSession:
    """Alice at Airflow's API, who begins runs there."""
    from support.airflow_lab import AirflowSession

    return AirflowSession(fab, "alice")


@pytest.fixture
def waiting(person: AirflowSession) -> Iterator[str]:
    """A run that waits for its approval."""
    run = person.trigger(DAG, protection_group=GROUP, reason="a test of FAB's login")
    person.question(DAG, run)
    yield run
    if person.runs(DAG)[run] not in ("success", "failed"):
        person.answer(DAG, run, "Reject", {**person.fields(DAG, run), "reason": "the test is over"})
        person.ended(DAG, run)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Page]:
    """A browser in which nobody is logged in."""
    with chromium(tmp_path, height=1600) as page:
        yield page


def log_in(page: Page, fab: FabLab, user: str) -> None:
    """Open the status page, be sent to FAB's login, log in, and be back on the status page."""
    password = json.loads(fab.status().airflow.passwords.read_text())[user]
    page.go(f"{fab.status().airflow.url}{STATUS}")
    page.wait("document.querySelector('form[name=login] #password')")
    page.type("#username", user)
    page.type("#password", password)
    page.click("document.querySelector('form[name=login] input[type=submit]')")
    page.wait(f"location.pathname === '{STATUS}' && document.querySelector('main')")


def question(run: str) -> str:
    return f"/kafka-dr/question/{DAG}/{GROUP}/{quote(run, safe='')}"


def test_who_logs_in_on_fabs_page_approves_on_ours_and_airflow_has_recorded_the_person(
    fab: FabLab, person: AirflowSession, browser: Page, waiting: str
) -> None:
    before = fab.state("east", GROUP)
    assert before is not None
    log_in(browser, fab, "alice")
    browser.wait(link("Read the question and answer it"))
    asked = browser.click_to(link("Read the question and answer it"), question(waiting))
    asked.wait(button("Approve"))
    assert "alice asks" in asked.text()
    asked.type("#reason", "the window is open")
    asked.click(button("Approve"))
    asked.wait(f"location.pathname === '/kafka-dr/evidence/{GROUP}/{waiting}'", seconds=120)
    assert person.ended(DAG, waiting) == "success", person.why(DAG, waiting)

    (found,) = person.http.get(f"/api/v2/dags/{DAG}/dagRuns/{waiting}/hitlDetails").json()["hitl_details"]
    assert (found["chosen_options"], found["responded_by_user"]["name"]) == (["Approve"], "alice")
    answer = fab.facts(before.active, GROUP, waiting)["answer.1"]
    assert (answer["approved"], answer["responder"], answer["reason"]) == (True, "alice", "the window is open")
    after = fab.state(before.standby, GROUP)
    assert after is not None
    assert (after.active, after.run) == (before.standby, waiting)


@pytest.mark.parametrize("who", ["carol", "admin"])
def test_who_has_not_the_right_reads_why_and_who_has_it(
    fab: FabLab, person: AirflowSession, browser: Page, waiting: str, who: str
) -> None:
    log_in(browser, fab, who)
    browser.go(f"{fab.status().airflow.url}{question(waiting)}")
    browser.wait("document.readyState === 'complete' && document.querySelector('.answer')")
    assert f"You are {who} and were not asked, so you may not answer. alice or bob can, until " in browser.text()
    assert browser.ask("document.querySelectorAll('.answer button').length") == 0
    (found,) = person.http.get(f"/api/v2/dags/{DAG}/dagRuns/{waiting}/hitlDetails").json()["hitl_details"]
    assert found["response_received"] is False
