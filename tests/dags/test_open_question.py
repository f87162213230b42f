"""The page of a question that nobody has answered yet, in a real Chromium: who may not answer, and ways to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from support.browser import link
from support.question_page import DAG, GROUP, address, opened, taken

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

STATUS = "/kafka-dr/status?reload=false"

pytestmark = [
    *(pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)),
    pytest.mark.usefixtures("unchanged", "_as_before"),
]


@pytest.fixture(scope="module")
def waiting(airflow: QuickLab) -> Iterator[str]:
    """A run that waits for its approval while each test of this file looks at its page."""
    from support.airflow_lab import AirflowSession

    alice = AirflowSession(airflow, "alice")
    with airflow.declaring({"approval_expiry_seconds": 900}):
        run = alice.trigger(DAG, protection_group=GROUP, reason="a test of the page")
        alice.question(DAG, run)
    # Health lists the runs as ended that were ended in Airflow, which wait for nobody.
    alice.ended("dr_health", alice.trigger("dr_health"))
    yield run
    alice.end(DAG, run)
    # Runs that were ended in Airflow wait no more once health has looked.
    alice.ended("dr_health", alice.trigger("dr_health"))


@pytest.fixture
def _as_before(alice: AirflowSession, page: Page, waiting: str) -> Iterator[None]:
    """Hold that the question stays open, and give the next test the browser of an approver."""
    yield
    page.resize(1200, 1600)
    page.log_in(str(alice.http.base_url), alice.token)
    assert alice.runs(DAG)[waiting] == "running"


@pytest.mark.parametrize("person", ["carol", "admin"])
def test_who_may_not_answer_reads_why_and_who_can(
    airflow: QuickLab, alice: AirflowSession, page: Page, waiting: str, person: str
) -> None:
    from support.airflow_lab import AirflowSession

    page.log_in(str(alice.http.base_url), AirflowSession(airflow, person).token)
    shown = opened(page, alice, waiting)
    assert f"You are {person} and were not asked, so you may not answer. alice or bob can, until " in shown
    assert page.ask("document.querySelectorAll('.answer button').length") == 0
    assert taken(alice, waiting)["response_received"] is False


def test_on_a_telephone_nothing_is_cut_off(alice: AirflowSession, page: Page, waiting: str) -> None:
    page.resize(390, 800)
    opened(page, alice, waiting)
    assert page.ask("document.documentElement.scrollWidth") <= 390
    page.unfold()
    assert page.ask("document.documentElement.scrollWidth") <= 390
    page.wait("document.querySelectorAll('.answer button').length === 2")


def test_evidence_that_somebody_changed_is_not_shown_as_the_question(
    airflow: QuickLab, alice: AirflowSession, page: Page, waiting: str
) -> None:
    (kept,) = (airflow.home.root / "evidence" / "runs" / GROUP / waiting).glob("02-approval.1.json")
    before = kept.read_text("utf-8")
    changed = json.loads(before)
    changed["facts"]["asked"]["sheet"]["lost"] = "nothing at all"
    kept.write_text(json.dumps(changed), "utf-8")
    page.go(address(alice, waiting))
    page.wait("document.body && document.body.innerText.includes('is not what Airflow asks')")
    assert "nothing at all" not in page.text()
    kept.write_text(before, "utf-8")
    assert page.ask("document.querySelectorAll('button').length") == 0
    assert "Approve" in opened(page, alice, waiting)


@pytest.fixture
def elsewhere() -> Iterator[ThreadingHTTPServer]:
    """A site of somebody else, with an empty page."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><p>elsewhere</p>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_another_site_answers_nothing_with_the_session_of_its_reader(
    alice: AirflowSession, page: Page, waiting: str, elsewhere: ThreadingHTTPServer
) -> None:
    base = str(alice.http.base_url)
    api = f"{base}/api/v2/dags/{DAG}/dagRuns/{waiting}/taskInstances/approval/-1/hitlDetails"
    page.go(f"http://localhost:{elsewhere.server_port}/")
    page.wait("document.body && document.body.innerText.includes('elsewhere')")
    sent = json.dumps({"chosen_options": ["Approve"], "params_input": {}})
    for kind in ("application/json", "text/plain"):
        headers = json.dumps({"Content-Type": kind})
        asked = f"method: 'PATCH', credentials: 'include', headers: {headers}, body: {json.dumps(sent)}"
        refused = page.ask(f"fetch({json.dumps(api)}, {{{asked}}}).then(() => 'sent', () => 'refused')")
        assert refused == "refused"
    # A form can only send GET and POST, and our page takes neither an answer nor a frame.
    for path in (api, address(alice, waiting)):
        assert alice.http.post(path).status_code == 405
    page.ask(f"document.body.innerHTML = '<iframe src={json.dumps(address(alice, waiting))}></iframe>'")
    page.wait("document.querySelector('iframe')")
    policy = alice.http.get(address(alice, waiting)).headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert taken(alice, waiting)["response_received"] is False


def test_every_way_leads_to_the_page(alice: AirflowSession, page: Page, waiting: str) -> None:
    base, path = str(alice.http.base_url), f"/kafka-dr/question/{DAG}/{GROUP}/{waiting}"
    for start in (
        STATUS,
        f"/kafka-dr/groups/{GROUP}",
        f"/kafka-dr/evidence/{GROUP}/{waiting}",
    ):
        page.go(f"{base}{start}")
        page.wait("document.readyState === 'complete' && document.querySelector('main')")
        page.unfold()
        assert "alice asks" in page.click_to(link("Read the question and answer it"), path).text(), start
    page.go(f"{base}/dags/{DAG}/runs/{waiting}/tasks/approval/details")
    assert "alice asks" in page.click_to(link("Question"), path).text()
    page.go(f"{base}/dags/{DAG}/runs/{waiting}/tasks/approval/required_actions")
    assert "alice asks" in page.click_to(link("Read all of it, and answer"), path).text()
    noted = str(alice.note(DAG, waiting))
    assert "alice" in noted
    assert f"move {GROUP}" in noted
    assert path in noted
    assert "\n" not in noted


def test_a_question_leads_to_its_evidence_and_the_status_page_to_the_question(
    alice: AirflowSession, page: Page, waiting: str
) -> None:
    base, evidence = alice.http.base_url, f"/kafka-dr/evidence/{GROUP}/{waiting}"
    page.go(f"{base}{STATUS}")
    page.wait("document.readyState === 'complete' && document.querySelector('main')")
    page.unfold()
    asked = page.click_to(link("Read the question and answer it"), f"/kafka-dr/question/{DAG}/{GROUP}/{waiting}")
    asked.unfold()
    assert "Step by step" in asked.click_to(link("The run, step by step"), evidence).text()
    page.go(f"{base}{STATUS}")
    page.wait("document.readyState === 'complete' && document.querySelector('main')")
    page.unfold()
    of_the_run = f"[...document.querySelectorAll('a')].find(each => each.pathname === {evidence!r})"
    assert str(page.ask(f"{of_the_run}.innerText")).endswith(": step by step")
    assert "Step by step" in page.click_to(of_the_run, evidence).text()


def test_a_notification_leads_to_the_run_that_waits(
    airflow: QuickLab, alice: AirflowSession, page: Page, waiting: str
) -> None:
    sent = alice.trigger("dr_notifications")
    assert alice.ended("dr_notifications", sent) == "success", alice.why("dr_notifications", sent)
    page.go((airflow.home.root / "notifications.html").as_uri())
    newest = "[...document.querySelectorAll('a')].find(each => each.innerText === 'Look at it')"
    page.wait(newest)
    assert "alice asks" in page.click_to(newest, f"/kafka-dr/question/{DAG}/{GROUP}/{waiting}").text()
