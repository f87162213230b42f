"""An answer that comes before Airflow has noticed that the approval waits; with ``--long`` with Airflow's defaults."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from support.browser import button

if TYPE_CHECKING:
    from kafka_dr.register import RegisterState
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

DAG = "dr_planned_failover"
UNPLANNED, FAILBACK = "dr_unplanned_failover", "dr_failback"
GROUP = "orders"
_SECONDS = 120.0
_ASKED = "SELECT id FROM task_instance WHERE run_id = ? AND task_id = 'approval'"
_RETURN_SECONDS = 240.0


@pytest.fixture
def alice(answered: QuickLab) -> AirflowSession:
    """An approver."""
    from support.airflow_lab import AirflowSession

    return AirflowSession(answered, "alice")


@pytest.fixture
def run(alice: AirflowSession) -> str:
    """A failover that was just triggered."""
    return alice.trigger(DAG, protection_group=GROUP, reason="a test")


@contextmanager
def noticed_late(lab: QuickLab, run: str) -> Iterator[None]:
    """Let Airflow notice that the approval waits only when the task that was answered runs already.

    The worker of the try that asks is stopped for so long. Airflow's own workers are as late when they miss the end of
    a task: they look again after 5 s. What runs then is stopped until Airflow has noticed, so that it is not quicker.
    """
    asking, worker = _process(lab, run, "awaiting_input", before=0)
    answered = None
    worker.suspend()
    try:
        yield
        answered, _ = _process(lab, run, "running", before=asking.pid)
        answered.suspend()
        worker.resume()
        _wait(lab, run, lambda state, _: state != "running")
    finally:
        worker.resume()
        with suppress(psutil.NoSuchProcess):
            if answered is not None:
                answered.resume()


def _process(lab: QuickLab, run: str, state: str, *, before: int) -> tuple[psutil.Process, psutil.Process]:
    """Wait until the approval has a state and another process than before; return that process and its worker."""
    found: list[tuple[psutil.Process, psutil.Process]] = []

    def seen(now: str | None, pid: int | None) -> bool:
        if not found and pid and pid != before:
            process = psutil.Process(pid)
            worker = process.parent()
            assert worker is not None
            found.append((process, worker))
        return bool(found) and now == state

    _wait(lab, run, seen)
    return found[0]


def _wait(lab: QuickLab, run: str, seen: Callable[[str | None, int | None], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not seen(*(found := _approval(lab, run))):
        assert time.monotonic() < deadline, f"the approval of {run} stays {found}"
        time.sleep(0.005)


def _approval(lab: QuickLab, run: str) -> tuple[str | None, int | None]:
    """Return the state of a run's approval, and the process that runs it."""
    asked = "SELECT state, pid FROM task_instance WHERE run_id = ? AND task_id = 'approval'"
    with closing(_database(lab)) as database:
        found: tuple[str | None, int | None] | None = database.execute(asked, (run,)).fetchone()
    return found or (None, None)


def _database(lab: QuickLab) -> sqlite3.Connection:
    return sqlite3.connect(lab.home.airflow / "airflow.db", timeout=30)


def _assert_moved_by(lab: QuickLab, session: AirflowSession, run: str, *, before: str) -> None:
    assert session.ended(DAG, run) == "success", session.why(DAG, run)
    state = lab.state("west", GROUP)
    assert state is not None
    assert (state.standby, state.run) == (before, run)


@pytest.fixture
def active(answered: QuickLab) -> str:
    """The active cluster before the test."""
    state = answered.state("east", GROUP)
    assert state is not None
    return state.active


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.2, 1.0, 2.0])
def test_a_run_continues_whose_question_is_answered_at_once(
    answered: QuickLab, alice: AirflowSession, active: str, run: str, seconds: float
) -> None:
    alice.parks(DAG, run)
    time.sleep(seconds)
    assert alice.answer(DAG, run, "Approve", alice.fields(DAG, run)).status_code == 200
    _assert_moved_by(answered, alice, run, before=active)


@pytest.fixture(scope="module")
def page(answered: QuickLab, browser: Page) -> Page:
    """A browser in which an approver is logged in."""
    from support.airflow_lab import AirflowSession

    session = AirflowSession(answered, "alice")
    browser.log_in(str(session.http.base_url), session.token)
    return browser


def click_at_once(alice: AirflowSession, page: Page, dag: str, run: str, *, seconds: float = _SECONDS) -> None:
    """Open the question as soon as it is asked, and click Approve as soon as Airflow shows it."""
    alice.parks(dag, run, seconds=seconds)
    page.go(f"{alice.http.base_url}/dags/{dag}/runs/{run}/tasks/approval/required_actions")
    page.click(button("Approve"))


def assert_clicked(alice: AirflowSession, dag: str, run: str, *, seconds: float = 400) -> None:
    """The run has succeeded by the answer that was clicked."""
    assert alice.ended(dag, run, seconds=seconds) == "success", alice.why(dag, run)
    (asked,) = alice.http.get(f"/api/v2/dags/{dag}/dagRuns/{run}/hitlDetails").json()["hitl_details"]
    assert (asked["chosen_options"], asked["responded_by_user"]["name"]) == (["Approve"], "alice")


@pytest.mark.long
def test_a_run_continues_whose_question_is_clicked_as_soon_as_it_is_shown(
    answered: QuickLab, alice: AirflowSession, page: Page, active: str, run: str
) -> None:
    click_at_once(alice, page, DAG, run)
    assert_clicked(alice, DAG, run)
    state = answered.state("west", GROUP)
    assert state is not None
    assert (state.standby, state.run) == (active, run)


@pytest.mark.long
def test_after_a_disaster_quick_clicks_move_the_group_and_make_the_old_cluster_a_copy_again(
    answered: QuickLab, alice: AirflowSession, page: Page, active: str
) -> None:
    killed = [name for name in answered.supervisor.names() if name.startswith(f"{active}-broker-")]
    for name in killed:
        answered.kill(name)
    run = alice.trigger(UNPLANNED, protection_group=GROUP, reason="a test", acknowledged=True)
    click_at_once(alice, page, UNPLANNED, run)
    assert_clicked(alice, UNPLANNED, run)
    for name in killed:
        answered.restart(name)
    target = {"east": "west", "west": "east"}[active]
    deadline = time.monotonic() + _RETURN_SECONDS
    while (state := answered.state(target, GROUP)) is None or state.phase != "diverged":
        assert time.monotonic() < deadline, state
        alice.ended("dr_health", alice.trigger("dr_health"))

    run = alice.trigger(FAILBACK, protection_group=GROUP, reason="a test")
    # A search on Spark comes before this question.
    click_at_once(alice, page, FAILBACK, run, seconds=_RETURN_SECONDS)
    assert_clicked(alice, FAILBACK, run, seconds=700)
    state = answered.state(target, GROUP)
    assert state is not None
    assert (state.phase, state.active, state.standby, state.run) == ("stable", target, active, run)


def test_a_run_continues_although_airflow_fails_the_try_that_was_answered(
    answered: QuickLab, alice: AirflowSession, active: str, run: str
) -> None:
    with noticed_late(answered, run):
        assert alice.answer(DAG, run, "Approve", {**alice.fields(DAG, run), "reason": "go"}).status_code == 200
    _assert_moved_by(answered, alice, run, before=active)
    assert alice.tries(DAG, run, "approval") > 1
    facts = answered.facts(active, GROUP, run)
    assert {name for name in facts if name.startswith("question")} == {"question.1"}
    answer = facts["answer.1"]
    assert (answer["approved"], answer["responder"], answer["reason"]) == (True, "alice", "go")


@pytest.mark.long
def test_a_plan_of_the_config_sync_is_applied_although_airflow_fails_the_try_that_was_answered(
    answered: QuickLab, alice: AirflowSession, active: str
) -> None:
    from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
    from support.configured_group import reached_as_admin

    prefix = (ResourceType.TOPIC, "orders.", PatternType.PREFIXED)
    extra = Acl(*prefix, "User:orders-app", AclOperation.ALTER, AclPermission.ALLOW)
    standby = {"east": "west", "west": "east"}[active]
    with reached_as_admin(answered, standby) as admin:
        admin.acls.add([extra])
        run = alice.trigger("dr_config_sync")
        with noticed_late(answered, run):
            fields = alice.fields("dr_config_sync", run)
            assert alice.answer("dr_config_sync", run, "Approve", fields, mapped=0).status_code == 200
        assert alice.ended("dr_config_sync", run) == "success", alice.tasks("dr_config_sync", run)
        assert extra not in admin.acls.list()
    assert alice.tries("dr_config_sync", run, "approval", mapped=0) > 1


@pytest.mark.long
def test_a_later_try_judges_the_answer_as_the_first_one_would(
    answered: QuickLab, alice: AirflowSession, run: str
) -> None:
    before = answered.state("east", GROUP)
    with noticed_late(answered, run):
        assert alice.answer(DAG, run, "Reject", alice.fields(DAG, run)).status_code == 200
    _assert_nothing_was_done(answered, alice, run, "REJECTED by alice", before)


def test_an_answer_to_a_text_that_this_run_never_asked_lets_no_later_try_continue(
    answered: QuickLab, alice: AirflowSession, run: str
) -> None:
    """Airflow keeps one text for a task. Whoever writes its database shows another question, and has it approved."""
    alice.parks(DAG, run)
    before = answered.state("east", GROUP)
    with closing(_database(answered)) as database, database:
        (asked,) = database.execute(_ASKED, (run,)).fetchone()
        (body,) = database.execute("SELECT body FROM hitl_detail WHERE ti_id = ?", (asked,)).fetchone()
        older = re.sub(r"(?m)^Question `[0-9a-f]+`$", f"Question `{'0' * 32}`", body)
        assert older != body
        database.execute("UPDATE hitl_detail SET body = ? WHERE ti_id = ?", (older, asked))
    alice.clear(DAG, run, ["approval"])
    alice.answer(DAG, run, "Approve", alice.fields(DAG, run))
    assert alice.ended(DAG, run) == "failed"
    assert alice.tasks(DAG, run)["switch"] == "skipped"
    assert answered.state("east", GROUP) == before
    assert "answer.1" not in answered.facts(before.active if before else "", GROUP, run)


def _assert_nothing_was_done(
    lab: QuickLab, session: AirflowSession, run: str, note: str, before: RegisterState | None
) -> None:
    assert session.ended(DAG, run) == "failed"
    assert note in str(session.note(DAG, run))
    assert session.tasks(DAG, run)["switch"] == "skipped"
    assert session.tries(DAG, run, "approval") > 1
    assert lab.state("east", GROUP) == before


def test_an_answer_that_airflow_says_somebody_gave_who_was_not_asked_lets_no_later_try_continue(
    answered: QuickLab, alice: AirflowSession, run: str
) -> None:
    alice.parks(DAG, run)
    before = answered.state("east", GROUP)
    # Whoever can write Airflow's database says that carol has approved, and has the task tried again.
    said = ("2026-01-01 00:00:00.000000", '{"id": "carol", "name": "carol"}', '["Approve"]')
    typed = json.dumps(alice.fields(DAG, run))
    with closing(_database(answered)) as database, database:
        (asked,) = database.execute(_ASKED, (run,)).fetchone()
        changed = database.execute(
            "UPDATE hitl_detail SET responded_at = ?, responded_by = ?, chosen_options = ?, params_input = ? "
            "WHERE ti_id = ?",
            (*said, typed, asked),
        )
        assert changed.rowcount == 1
    alice.clear(DAG, run, ["approval"])
    assert alice.ended(DAG, run) == "failed"
    assert "carol, who may not give this answer for this group" in str(alice.note(DAG, run))
    assert alice.tasks(DAG, run)["switch"] == "skipped"
    assert answered.state("east", GROUP) == before


@pytest.mark.long
def test_a_later_try_of_an_approval_that_nobody_answered_asks_nobody(
    answered: QuickLab, alice: AirflowSession, run: str
) -> None:
    alice.parks(DAG, run)
    before = answered.state("east", GROUP)
    alice.clear(DAG, run, ["approval"])
    assert alice.ended(DAG, run) == "failed"
    nothing = "only the first try of an approval asks, and Airflow has no answer to it. Nothing was changed"
    assert f"REFUSED at approval: {nothing}" in str(alice.note(DAG, run))
    assert alice.tasks(DAG, run)["switch"] == "skipped"
    assert answered.state("east", GROUP) == before
