"""Every way into the project's pages, clicked with the mouse in a real browser, in the Airflow that is delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.browser import link

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600), pytest.mark.usefixtures("unchanged")]

DAG, GROUP = "dr_planned_failover", "orders"
STATUS = "/kafka-dr/status"


@pytest.fixture(scope="module")
def checked(airflow: QuickLab) -> str:
    """A dry run that has ended."""
    from support.airflow_lab import AirflowSession

    alice = AirflowSession(airflow, "alice")
    run = alice.trigger(DAG, protection_group=GROUP, reason="a test", dry_run=True)
    assert alice.ended(DAG, run) == "success", alice.why(DAG, run)
    return run


def test_the_navigation_leads_to_the_status_page_where_its_forms_work_and_has_nothing_dead(
    alice: AirflowSession, page: Page
) -> None:
    page.go(f"{alice.http.base_url}/dags")
    page.click("[...document.querySelectorAll('button')].find(each => each.innerText.trim() === 'Browse')")
    page.wait(link("DR status"))
    assert page.ask("[...document.querySelectorAll('[href*=\"/kafka-dr/\"]')].map(each => each.tagName)") == ["A"]
    opened = page.click_to(link("DR status"), STATUS)
    assert "Disaster recovery: status" in opened.text()
    assert opened.ask("window.top === window"), "its links and forms would not work in a frame"


@pytest.mark.parametrize("dag", ["dr_readiness", pytest.param(DAG, marks=pytest.mark.long)])
def test_the_runbook_of_a_dag_leads_to_the_status_page(alice: AirflowSession, page: Page, dag: str) -> None:
    page.go(f"{alice.http.base_url}/dags/{dag}")
    page.click("document.querySelector('[data-testid=markdown-button]')")
    assert "Disaster recovery: status" in page.click_to(link("DR status"), STATUS).text()


@pytest.mark.long
def test_the_note_on_a_run_leads_to_the_status_page(alice: AirflowSession, page: Page, checked: str) -> None:
    page.go(f"{alice.http.base_url}/dags/{DAG}/runs/{checked}")
    page.click("document.querySelector('[aria-label=\"Edit note\"]')")
    shown = link("DR status").replace("('a')", "('[role=dialog] a')")
    assert "Disaster recovery: status" in page.click_to(shown, STATUS).text()


def test_the_button_of_a_task_leads_to_the_evidence_of_its_run(alice: AirflowSession, page: Page, checked: str) -> None:
    page.go(f"{alice.http.base_url}/dags/{DAG}/runs/{checked}/tasks/preflight/details")
    assert "Step by step" in page.click_to(link("Evidence"), f"/kafka-dr/evidence/{GROUP}/{checked}").text()


@pytest.mark.long
def test_every_link_and_button_of_our_pages_leads_somewhere(alice: AirflowSession, page: Page, checked: str) -> None:
    """Links to Airflow's pages are clicked where they are buttons; an address that Airflow lacks shows a page, too."""
    base = str(alice.http.base_url)
    dags = {each["dag_id"] for each in alice.http.get("/api/v2/dags?limit=100").json()["dags"]}
    pages = (f"{STATUS}?reload=false", f"/kafka-dr/groups/{GROUP}", f"/kafka-dr/evidence/{GROUP}/{checked}")
    for path in pages:
        page.go(f"{base}{path}")
        page.wait("document.readyState === 'complete' && document.querySelector('main')")
        leads = page.ask("[...document.querySelectorAll('a[href]')].map(each => each.href)")
        ours = {each.partition("#")[0] for each in leads if each.startswith(f"{base}/kafka-dr/")}
        assert {each: code for each in ours if (code := alice.http.get(each).status_code) != 200} == {}, path
        others = {each.removeprefix(base) for each in leads if "/kafka-dr/" not in each} - {"/"}
        assert {each for each in others if each.split("/")[2] not in dags} == set(), path
    for title in ("Planned failover", "Unplanned failover", "Failback", "Drill"):
        page.go(f"{base}{STATUS}?reload=false")
        page.wait("document.readyState === 'complete' && document.querySelector('main')")
        page.unfold()
        verb = f"dr_{title.lower().replace(' ', '_')}"
        shown = page.click_to(link(f"{title} …"), f"/kafka-dr/start/{verb}/{GROUP}")
        assert f"{title}: {GROUP}" in shown.text()
        assert shown.click_to(link("DR status"), STATUS).text()


@pytest.mark.long
def test_a_form_of_ours_starts_a_run_and_leads_to_it(alice: AirflowSession, page: Page) -> None:
    before = alice.runs(DAG)
    page.go(f"{alice.http.base_url}/kafka-dr/start/{DAG}/{GROUP}")
    page.click("document.querySelector('[name=dry_run]')")
    page.wait("document.querySelector('[name=dry_run]').checked")
    page.type("[name=reason]", "a test")
    page.click("document.querySelector('button[type=submit]')")
    page.wait("location.pathname.includes('/evidence/')")
    (run,) = alice.runs(DAG).keys() - before
    assert page.ask("decodeURIComponent(location.pathname)") == f"/kafka-dr/evidence/{GROUP}/{run}"
    page.wait("document.body && document.body.innerText.includes('Preflight')", seconds=90)
    assert alice.ended(DAG, run) == "success", alice.why(DAG, run)
    assert alice.asked_for(DAG, run)["dry_run"] is True
