"""The page on which people answer, in a real Chromium: what an answer does, what is over, and by keyboard."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from support.browser import button
from support.question_page import DAG, GROUP, SHOWN, opened, said, taken

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)]


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


@pytest.mark.long
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
        page.wait(SHOWN)
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
def test_the_page_of_a_question_that_was_cleared_since_sends_nothing_and_airflows_own_answer_moves_nothing(
    alice: AirflowSession, page: Page, waiting: str
) -> None:
    opened(page, alice, waiting)
    alice.clear(DAG, waiting, ["approval"])
    alice.ended(DAG, waiting)
    page.click(button("Approve"))
    said(page, "Your answer does not count. This question is over")
    assert taken(alice, waiting)["response_received"] is False
    assert "The run does not wait for this answer any more." in opened(page, alice, waiting)
    # Airflow itself takes an answer to a text of an earlier try: its row moves to the task's new id.
    assert alice.answer(DAG, waiting, "Approve", {"reason": None}).status_code in (200, 404, 409)
    assert alice.runs(DAG)[waiting] == "failed"
