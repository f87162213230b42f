"""What an on-call engineer reads in a real Chromium while a run moves a group, or waits for an answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from support.browser import button, link
from support.run_pages import RunPages

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)]

PLANNED, GROUP = "dr_planned_failover", "orders"
STATUS = "/kafka-dr/status?reload=false"
#: A process that shows no life counts as dead after 45 s.
_DEAD_SECONDS = 90.0


@pytest.fixture
def way(airflow: QuickLab) -> dict[str, str]:
    """From where the group is to where it is not."""
    state = airflow.state("east", GROUP)
    assert state is not None
    return {"source": state.active, "target": state.standby}


def looked(session: AirflowSession) -> None:
    """Have health look once; it is red where the group is."""
    session.ended("dr_health", session.trigger("dr_health"))


def pages_of(page: Page, session: AirflowSession, run: str) -> RunPages:
    """Return the pages of a run."""
    return RunPages(page, str(session.http.base_url), GROUP, run)


@pytest.mark.long
def test_card_group_and_run_agree_at_each_moment_of_a_planned_switch(
    alice: AirflowSession, page: Page, way: dict[str, str]
) -> None:
    looked(alice)
    run = alice.trigger(PLANNED, protection_group=GROUP, **way, reason="a test")
    pages, answered, ran, waited, compared = pages_of(page, alice, run), False, set(), False, 0
    while alice.runs(PLANNED)[run] not in ("success", "failed"):
        before = pages.status()
        known = pages.active_is_known(way["source"])
        group, own = pages.of_group(), pages.of_run()
        opened = page.ask("[...document.querySelectorAll('tr')].some(row => /Open target\\s+done/.test(row.innerText))")
        after = pages.status()
        assert not (opened and pages.active_is_known(way["source"])), f"{way['source']} is drawn as active"
        ran |= {each for each in (before.runs, group.runs, own.runs, after.runs) if each}
        if before == after and known == pages.active_is_known(way["source"]):
            compared += 1
            assert not before.contradicts(group), (before, group)
            assert not before.contradicts(own), (before, own)
            waited |= bool(before.waits)
        if waited and not answered:
            answered = True
            alice.question(PLANNED, run)
            assert alice.answer(PLANNED, run, "Approve", alice.fields(PLANNED, run)).status_code == 200
    assert alice.ended(PLANNED, run) == "success", alice.why(PLANNED, run)
    assert waited
    assert compared > 2
    steps = {step for step, _, _ in ran}
    assert "Preflight" in steps, f"the first step is not shown while it runs: {ran}"
    assert len(steps) > 1, f"no step of the switch is shown while it runs: {ran}"
    # The run's last task has kept what the register says: health need not look before.
    for looks in (False, True):
        if looks:
            looked(alice)
        ended, group = pages.status(), pages.of_group()
        assert ended.runs == ()
        assert ended.record is not None
        assert f"Active on {way['target']}, standby {way['source']}: stable" in ended.record
        assert not ended.contradicts(group), (ended, group)
    assert f"MOVED to {way['target']}" in page.text()


def test_while_a_run_waits_no_second_one_can_be_started_and_who_was_not_asked_is_not_led_to_answer(
    airflow: QuickLab, alice: AirflowSession, page: Page
) -> None:
    from support.airflow_lab import AirflowSession

    base, carol = str(alice.http.base_url), AirflowSession(airflow, "carol")
    run = alice.trigger(PLANNED, protection_group=GROUP, reason="a test")
    try:
        alice.question(PLANNED, run)
        page.log_in(base, carol.token)
        pages = pages_of(page, alice, run)
        for path in (STATUS, f"/kafka-dr/groups/{GROUP}", f"/kafka-dr/evidence/{GROUP}/{run}"):
            shown = pages.open(path)
            assert "WAITS FOR OTHERS" in shown, shown
            assert "Read the question and answer it" not in shown
        page.log_in(base, alice.token)
        before = alice.runs(PLANNED)
        page.go(f"{base}/kafka-dr/start/{PLANNED}/{GROUP}")
        page.type("[name=reason]", "a second one")
        page.click("document.querySelector('button[type=submit]')")
        page.wait("document.getElementById('said').innerText.startsWith('Nothing was started: ')")
        assert "A second run is refused until it is answered" in page.text()
        assert alice.runs(PLANNED).keys() == before.keys()
    finally:
        page.log_in(base, alice.token)
        alice.end(PLANNED, run)


@pytest.mark.usefixtures("unchanged")
def test_a_run_that_was_ended_in_airflow_waits_on_no_page_although_health_has_not_looked(
    airflow: QuickLab, alice: AirflowSession, page: Page
) -> None:
    with airflow.declaring({"approval_expiry_seconds": 300}):
        run = alice.trigger(PLANNED, protection_group=GROUP, reason="a test")
        alice.question(PLANNED, run)
    page.log_in(str(alice.http.base_url), alice.token)
    pages = pages_of(page, alice, run)
    addresses = (STATUS, f"/kafka-dr/groups/{GROUP}", f"/kafka-dr/evidence/{GROUP}/{run}")
    try:
        for path in addresses:
            assert "WAITS FOR YOU" in pages.open(path), path
    finally:
        alice.fail(PLANNED, run)
    for path in addresses:
        shown = pages.open(path)
        assert "WAITS" not in shown, (path, shown)
        assert "ENDED IN AIRFLOW while it waited for an answer" in shown, (path, shown)
        assert "othing was changed, and nothing has to be cleared" in shown, (path, shown)
    looked(alice)
    for path in addresses:
        assert "ENDED IN AIRFLOW while it waited for an answer" in pages.open(path), path


# That Airflow refuses these answers, whoever sends them, is asked in each run: see test_only_approvers_may_answer….
@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_airflow_shows_its_buttons_to_whoever_was_not_asked_and_no_click_counts(
    airflow: QuickLab, alice: AirflowSession, page: Page
) -> None:
    from support.airflow_lab import AirflowSession

    base = str(alice.http.base_url)
    with airflow.declaring({"approval_expiry_seconds": 300}):
        run = alice.trigger(PLANNED, protection_group=GROUP, reason="a test")
        alice.question(PLANNED, run)
    try:
        for person, option in (("carol", "Approve"), ("admin", "Reject")):
            page.log_in(base, AirflowSession(airflow, person).token)
            said = pages_of(page, alice, run).open(STATUS)
            assert f"You are {person} and were not asked, so Airflow would refuse your answer: Access Denied." in said
            page.go("about:blank")
            page.wait("location.href === 'about:blank'")
            page.go(f"{base}/dags/{PLANNED}/runs/{run}/tasks/approval/required_actions")
            page.wait("document.body && document.body.innerText.includes('others get')")
            page.click(button(option))
            page.wait("document.body && document.body.innerText.includes('Access Denied\\n')")
            assert alice.question(PLANNED, run)["response_received"] is False
            assert alice.runs(PLANNED)[run] == "running"
        # Who was asked can still answer.
        assert alice.answer(PLANNED, run, "Reject", alice.fields(PLANNED, run)).status_code == 200
        alice.ended(PLANNED, run)
        assert str(alice.note(PLANNED, run)).startswith("REJECTED by alice")
    finally:
        page.log_in(base, alice.token)


@pytest.fixture
def held_up(airflow: QuickLab, alice: AirflowSession, way: dict[str, str]) -> Iterator[str]:
    """A planned failover that was approved and waits for a transaction: its source refuses writes."""
    from support import plain_application

    with plain_application.open_transaction(airflow, way["source"]):
        run = alice.trigger(PLANNED, protection_group=GROUP, **way, reason="a test")
        alice.question(PLANNED, run)
        assert alice.answer(PLANNED, run, "Approve", alice.fields(PLANNED, run)).status_code == 200
        plain_application.wait_refused(airflow, way["source"])
        yield run


def assert_all_pages_say(pages: RunPages, badges: Sequence[str], *sentences: str) -> None:
    """What is first and red on each page, and what each of them says.

    :param badges: the beginnings of the first red words
    """
    for path in (STATUS, f"/kafka-dr/groups/{GROUP}", f"/kafka-dr/evidence/{GROUP}/{pages.run}"):
        shown = pages.open(path)
        assert pages.first_red().lower().startswith(tuple(each.lower() for each in badges)), (path, shown)
        assert {said for said in sentences if said not in shown} == set(), (path, shown)


@pytest.mark.long
def test_while_the_source_hangs_in_a_switch_each_page_is_red_and_names_it_and_the_way_on(
    airflow: QuickLab, alice: AirflowSession, page: Page, way: dict[str, str], held_up: str
) -> None:
    from support import plain_application

    pages, source = pages_of(page, alice, held_up), way["source"]
    hung = [name for name in airflow.supervisor.names() if name.startswith(f"{source}-broker-")]
    for name in hung:
        airflow.pause(name)
    try:
        looked(alice)
        assert_all_pages_say(
            pages,
            ("HALF MOVED",),
            f"the register of {source}, which decides, does not answer",
            f"check {source} now",
            f"If {source} stays away, move the group with dr_unplanned_failover",
        )
        status, group, own = pages.status(), pages.of_group(), pages.of_run()
        assert not status.contradicts(group), (status, group)
        assert not status.contradicts(own), (status, own)
    finally:
        for name in hung:
            airflow.resume(name)
    alice.ended(PLANNED, held_up)
    _end(alice, held_up)
    state = airflow.state(source, GROUP)
    assert state is not None
    plain_application.assert_works_only_on(airflow, GROUP, state.active)
    looked(alice)
    assert "HALF MOVED" not in pages.open(STATUS)


@pytest.mark.long
def test_a_task_that_is_killed_in_a_switch_makes_each_page_red_until_the_run_is_ended(
    airflow: QuickLab, alice: AirflowSession, page: Page, way: dict[str, str], held_up: str
) -> None:
    from support import plain_application

    pages, source = pages_of(page, alice, held_up), way["source"]
    task = plain_application.executor(airflow, source, GROUP)
    supervisor = task.parent()
    assert supervisor is not None
    for process in (supervisor, task):
        process.kill()
    # A run that somebody has marked as failed rolls nothing back.
    alice.fail(PLANNED, held_up)
    # Health looks each minute: until then the page says by itself that nothing shows life.
    deadline = time.monotonic() + _DEAD_SECONDS
    while "HALF MOVED" not in (shown := pages.open(STATUS)):
        assert time.monotonic() < deadline, shown
        time.sleep(1)
    looked(alice)
    assert_all_pages_say(pages, ("HALF MOVED",), f"run {held_up}", "no process executes it", "with dr_resume")
    status, group = pages.status(), pages.of_group()
    assert not status.contradicts(group), (status, group)
    _end(alice, held_up)
    plain_application.assert_works_only_on(airflow, GROUP, source)
    looked(alice)
    assert "HALF MOVED" not in pages.open(STATUS)


def _end(alice: AirflowSession, run: str) -> None:
    """Abandon a run as the pages say, of which no process executes anything, unless Airflow has rolled it back."""
    resumed = alice.trigger("dr_resume", protection_group=GROUP, decision="abandon", reason="a test", confirmed=True)
    ended = alice.ended("dr_resume", resumed)
    over = "no run holds it, so there is nothing to resume" in alice.log("dr_resume", resumed, "resume")
    assert ended == "success" or over, alice.why("dr_resume", resumed)
    alice.ended(PLANNED, run)


def test_the_list_of_stranded_records_is_one_click_away(airflow: QuickLab, alice: AirflowSession, page: Page) -> None:
    from datetime import UTC, datetime

    from kafka_dr.audit.stranded import StrandedList, StrandedPartition, StrandedStore

    partition = StrandedPartition("orders.payments", 0, 0, 5, 9, 5, 4, ((5, 9),))
    found = StrandedList(GROUP, "a-disaster", "east", "west", datetime.now(UTC), {}, {}, (partition,))
    StrandedStore(airflow.home.root / "evidence", GROUP, "a-disaster").write(found)
    page.go(f"{alice.http.base_url}/kafka-dr/groups/{GROUP}")
    shown = page.click_to(link("a-disaster"), f"/kafka-dr/stranded/{GROUP}/a-disaster")
    assert "4 records" in shown.text()
