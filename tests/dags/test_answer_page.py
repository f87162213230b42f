"""The page on which people answer, in a real Chromium: who may, who may not, what is over, and by keyboard."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from support.browser import button, link

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)]

DAG, GROUP = "dr_planned_failover", "orders"
_SHOWN = "document.readyState === 'complete' && document.querySelector('.answer')"


@pytest.fixture(scope="module", autouse=True)
def _patient(airflow: QuickLab) -> Iterator[None]:
    """A question stays open while a test looks at its page; the tests that follow find the group where it was."""
    from support.airflow_lab import AirflowSession

    before = airflow.state("east", GROUP)
    assert before is not None
    with airflow.declaring({"approval_expiry_seconds": 300}):
        yield
    after = airflow.state("east", GROUP)
    assert after is not None
    if after.active != before.active:
        alice = AirflowSession(airflow, "alice")
        run = alice.trigger(DAG, protection_group=GROUP, reason="back to where it was")
        alice.question(DAG, run)
        assert alice.answer(DAG, run, "Approve", alice.fields(DAG, run)).status_code == 200
        assert alice.ended(DAG, run) == "success", alice.why(DAG, run)
    # Runs that were ended in Airflow wait no more once health has looked.
    session = AirflowSession(airflow, "alice")
    session.ended("dr_health", session.trigger("dr_health"))


@pytest.fixture
def waiting(alice: AirflowSession, page: Page) -> Iterator[str]:
    """A run that waits for its approval."""
    run = alice.trigger(DAG, protection_group=GROUP, reason="a test of the page")
    alice.question(DAG, run)
    yield run
    page.resize(1200, 1600)
    page.log_in(str(alice.http.base_url), alice.token)
    if alice.runs(DAG)[run] not in ("success", "failed"):
        alice.end(DAG, run)


def address(session: AirflowSession, run: str) -> str:
    return f"{session.http.base_url}/kafka-dr/question/{DAG}/{GROUP}/{quote(run, safe='')}"


def opened(page: Page, session: AirflowSession, run: str) -> str:
    page.go("about:blank")
    page.go(address(session, run))
    page.wait(_SHOWN)
    return page.text()


def said(page: Page, words: str) -> None:
    """Wait until the page says that."""
    page.wait(f"document.getElementById('said').innerText.includes({json.dumps(words)})")


def taken(session: AirflowSession, run: str) -> dict[str, Any]:
    """Return what Airflow has of the answer."""
    (found,) = session.http.get(f"/api/v2/dags/{DAG}/dagRuns/{run}/hitlDetails").json()["hitl_details"]
    return dict(found)


def test_approve_moves_the_group_and_airflow_has_recorded_the_person(
    airflow: QuickLab, alice: AirflowSession, page: Page, waiting: str
) -> None:
    before = airflow.state("east", GROUP)
    assert before is not None
    shown = opened(page, alice, waiting)
    words = page.ask("document.querySelector('main').innerText").split()
    assert len(words) <= 120, words
    assert "alice asks" in shown
    assert "a test of the page" in shown
    page.type("#reason", "the window is open")
    page.click(button("Approve"))
    said(page, "Airflow has taken your answer")
    page.wait(f"location.pathname === '/kafka-dr/evidence/{GROUP}/{waiting}'", seconds=90)
    found = taken(alice, waiting)
    assert (found["chosen_options"], found["responded_by_user"]["name"]) == (["Approve"], "alice")
    assert alice.ended(DAG, waiting) == "success", alice.why(DAG, waiting)
    answer = airflow.facts(before.active, GROUP, waiting)["answer.1"]
    assert (answer["approved"], answer["responder"], answer["reason"]) == (True, "alice", "the window is open")
    assert answer["digest"] == airflow.facts(before.active, GROUP, waiting)["question.1"]["facts_digest"]
    after = airflow.state("east", GROUP)
    assert after is not None
    assert (after.active, after.run) == (before.standby, waiting)


@pytest.mark.usefixtures("unchanged")
def test_reject_by_keyboard_ends_the_run_and_changes_nothing(alice: AirflowSession, page: Page, waiting: str) -> None:
    opened(page, alice, waiting)
    stops = page.walk()
    assert [stop for stop in stops if not stop.shown] == []
    names = [stop.name for stop in stops]
    assert names.index("BUTTON Approve") + 1 == names.index("BUTTON Reject"), names
    page.ask(f"{button('Approve')}.focus()")
    page.press("Tab")
    page.press(" ")
    page.wait(f"location.pathname === '/kafka-dr/evidence/{GROUP}/{waiting}'", seconds=90)
    assert alice.ended(DAG, waiting) == "failed"
    assert str(alice.note(DAG, waiting)).startswith("REJECTED by alice")


@pytest.mark.usefixtures("unchanged")
def test_the_terminal_of_a_demo_names_this_page_and_its_answer_ends_the_wait(
    airflow: QuickLab, alice: AirflowSession, page: Page
) -> None:
    from rich.console import Console

    from lab.demo import terminal_approval
    from lab.demo.airflow_rest import AirflowApi, PendingApproval
    from lab.demo.failover_run import FailoverRunner, RunParameters

    base, terminal = str(alice.http.base_url).rstrip("/"), io.StringIO()
    api = AirflowApi(base, user="alice", password=json.loads(airflow.status().airflow.passwords.read_text())["alice"])

    def answering(question: PendingApproval, where: str, answered: Callable[[], bool]) -> str | None:
        console = Console(file=terminal, width=80)
        terminal_approval.show(question, console, page=where)
        page.log_in(base, alice.token)
        page.go(next(line for line in terminal.getvalue().splitlines() if line.startswith("http")))
        page.wait(_SHOWN)
        page.click(button("Reject"))
        said(page, "Airflow has taken your answer")
        return terminal_approval.ask(console, answered_elsewhere=answered, stdin=io.StringIO())

    state = airflow.state("east", GROUP)
    assert state is not None
    runner = FailoverRunner(
        api,
        [api],
        evidence=airflow.home.evidence,
        answering=answering,
        show_step=lambda _: None,
        say=lambda _: None,
    )
    with closing(api):
        done = runner.run(RunParameters(state.active, state.standby))
    assert (done.state, done.approved_by) == ("failed", ("alice",))
    assert str(alice.note(DAG, done.run)).startswith("REJECTED by alice")


@pytest.mark.usefixtures("unchanged")
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


@pytest.mark.usefixtures("unchanged")
def test_of_two_people_the_second_one_reads_who_was_first(
    airflow: QuickLab, alice: AirflowSession, page: Page, waiting: str
) -> None:
    from support.airflow_lab import AirflowSession

    bob = AirflowSession(airflow, "bob")
    opened(page, alice, waiting)
    # In another tab, and as somebody else.
    assert bob.answer(DAG, waiting, "Reject", {"reason": None}).status_code == 200
    page.click(button("Approve"))
    page.wait(
        "/Somebody has answered before you|This question is over/.test(document.getElementById('said').innerText)"
    )
    assert "bob has rejected this" in opened(page, alice, waiting)
    assert page.ask("document.querySelectorAll('.answer button').length") == 0
    assert alice.ended(DAG, waiting) == "failed"
    assert str(alice.note(DAG, waiting)).startswith("REJECTED by bob")


@pytest.mark.usefixtures("unchanged")
def test_the_page_of_a_question_that_was_cleared_since_sends_nothing(
    alice: AirflowSession, page: Page, waiting: str
) -> None:
    opened(page, alice, waiting)
    alice.clear(DAG, waiting, ["approval"])
    alice.ended(DAG, waiting)
    page.click(button("Approve"))
    said(page, "Your answer does not count. This question is over")
    assert taken(alice, waiting)["response_received"] is False
    assert "The run does not wait for this answer any more." in opened(page, alice, waiting)


@pytest.mark.usefixtures("unchanged")
def test_an_old_question_that_airflow_still_shows_after_a_clear_moves_nothing(
    alice: AirflowSession, waiting: str
) -> None:
    """Airflow takes an answer to a text of an earlier try: its row moves to the task's new id."""
    alice.clear(DAG, waiting, ["approval"])
    alice.ended(DAG, waiting)
    assert alice.answer(DAG, waiting, "Approve", {"reason": None}).status_code in (200, 404, 409)
    assert alice.runs(DAG)[waiting] == "failed"


@pytest.mark.usefixtures("unchanged")
def test_on_a_telephone_nothing_is_cut_off(alice: AirflowSession, page: Page, waiting: str) -> None:
    page.resize(390, 800)
    opened(page, alice, waiting)
    assert page.ask("document.documentElement.scrollWidth") <= 390
    page.unfold()
    assert page.ask("document.documentElement.scrollWidth") <= 390
    page.wait("document.querySelectorAll('.answer button').length === 2")


@pytest.mark.usefixtures("unchanged")
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


@pytest.mark.usefixtures("unchanged")
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


@pytest.mark.usefixtures("unchanged")
def test_every_way_leads_to_the_page(airflow: QuickLab, alice: AirflowSession, page: Page, waiting: str) -> None:
    base, path = str(alice.http.base_url), f"/kafka-dr/question/{DAG}/{GROUP}/{waiting}"
    # Health lists the runs as ended that were ended in Airflow, which wait for nobody.
    alice.ended("dr_health", alice.trigger("dr_health"))
    for start in (
        "/kafka-dr/status?reload=false",
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
    sent = alice.trigger("dr_notifications")
    assert alice.ended("dr_notifications", sent) == "success", alice.why("dr_notifications", sent)
    assert path in (airflow.home.root / "notifications.html").read_text("utf-8")
