"""What Airflow takes when somebody triggers a run: by its API, and by its forms in a real browser."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)]

#: What each form has filled in already, apart from what stays open or off.
DEFAULTS: dict[str, dict[str, Any]] = {
    "dr_adopt": {"protection_group": "orders"},
    "dr_drill": {"kind": "planned"},
    "dr_failback": {"protection_group": "orders", "mode": "quarantine", "rescue": "keep", "late": "declared"},
    "dr_un_adopt": {"protection_group": "orders", "hand_back_to": "existing"},
    **{
        f"dr_{verb}_failover": {"protection_group": "orders", "begin_positions": "unknown"}
        for verb in ("planned", "unplanned")
    },
    "dr_resume": {"protection_group": "orders"},
}
#: Pages that a person walks through by keyboard, and what is on each of them when it is there. While it loads again by
#: itself, the focus of the status page is lost, so a person stops that first.
PAGES = {
    "status?reload=false": "may answer until",
    "groups/orders": "everything that is kept",
    "start/dr_planned_failover/orders": "Airflow starts the run",
    "evidence/orders/{run}?reload=false": "Step by step",
    "question/dr_planned_failover/orders/{run}": "All grounds",
}
DAG_IDS = sorted(path.stem for path in (Path(__file__).parents[2] / "dags").glob("*.py"))
#: The tasks that end a run red, whatever came before.
_LAST = ("outcome", "result")
#: What each form cannot do without.
NEEDED: dict[str, dict[str, Any]] = {
    "dr_planned_failover": {"reason": "a test"},
    "dr_unplanned_failover": {"reason": "a test"},
    "dr_failback": {"reason": "a test"},
    "dr_un_adopt": {"reason": "a test"},
    "dr_resume": {"reason": "a test", "decision": "finish"},
}
#: A form with texts and a list. The other forms ask for no more, and are sent with ``--long``; what Airflow's form
#: refuses is known, and test_integrity looks for it in every DAG.
_VERBS = {"dr_resume"}
_SENT = [dag if dag in _VERBS else pytest.param(dag, marks=pytest.mark.long) for dag in DAG_IDS]
_DIALOG = "[...document.querySelectorAll('[role=dialog]')].find(each => !each.hidden)"
_SUBMIT = f"[...({_DIALOG}).querySelectorAll('button')].find(each => each.innerText === 'Trigger')"


def assert_walked_by_keyboard(page: Page, address: str, said: str) -> None:
    """The Tab key reaches everything in the order of the text, shows where it is, and comes out at the end."""
    page.go(address)
    page.wait(f"document.body && document.body.innerText.includes({said!r})")
    stops = page.walk()
    assert stops[0].name == "A Skip to the content", address
    assert [stop for stop in stops if not stop.shown] == [], address
    order = [stop.number for stop in stops]
    assert order == sorted(order), (address, [stop.name for stop in stops])
    reachable = "a[href], button, select, textarea, input, summary, [tabindex='0']"
    all_of_them = f"[...document.querySelectorAll({json.dumps(reachable)})].filter(each => each.checkVisibility())"
    assert len(stops) == page.ask(f"{all_of_them}.length"), (address, [stop.name for stop in stops])


def _wait_for_a_free_second() -> None:
    """Airflow's form proposes the present second as logical date, and at a full minute a scheduled run has that one."""
    while datetime.now(UTC).second in (59, 0):
        time.sleep(0.2)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("dag", _SENT)
def test_a_form_is_accepted_with_only_its_required_fields(alice: AirflowSession, page: Page, dag: str) -> None:
    needed, before = NEEDED.get(dag, {}), alice.runs(dag)
    page.go(f"{alice.http.base_url}/dags/{dag}")
    _wait_for_a_free_second()
    page.click("document.querySelector('[data-testid=trigger-dag-button]')")
    page.wait(f"({_DIALOG}) && {_SUBMIT}")
    for name, value in needed.items():
        page.type(f"[name=element_{name}]", value, chosen=name == "decision")
    page.wait(f"!{_SUBMIT}.disabled")
    page.click(_SUBMIT)
    page.wait(f"!({_DIALOG})")
    (run,) = (run for run in alice.runs(dag) if run not in before and run.startswith("manual__"))
    alice.end(dag, run)
    assert {name: value for name, value in alice.asked_for(dag, run).items() if value not in (None, False)} == {
        **DEFAULTS.get(dag, {}),
        **needed,
    }


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_a_time_that_is_pasted_into_airflows_form_is_the_one_that_the_approver_sees(
    alice: AirflowSession, page: Page
) -> None:
    dag, before = "dr_planned_failover", alice.runs("dr_planned_failover")
    page.go(f"{alice.http.base_url}/dags/{dag}")
    _wait_for_a_free_second()
    page.click("document.querySelector('[data-testid=trigger-dag-button]')")
    page.wait(f"({_DIALOG}) && {_SUBMIT}")
    page.type("[name=element_begin_at]", "2026-11-27T05:03:00+01:00")
    page.type("[name=element_reason]", "a test")
    page.wait(f"!{_SUBMIT}.disabled")
    page.click(_SUBMIT)
    page.wait(f"!({_DIALOG})")
    (run,) = (run for run in alice.runs(dag) if run not in before and run.startswith("manual__"))
    try:
        asked = str(alice.question(dag, run))
        assert "begin at the first record of 2026-11-27 04:03:00 UTC" in asked
    finally:
        alice.end(dag, run)


@pytest.mark.usefixtures("unchanged")
def test_what_the_requester_writes_changes_nothing_else_of_the_approval_that_airflow_shows(
    alice: AirflowSession, page: Page
) -> None:
    dag, attack = (
        "dr_planned_failover",
        "routine\n\n<!--\n```\n# Dry run\n<script>document.title = 'x'</script> \u202ewww.a.com",
    )
    run = alice.trigger(dag, protection_group="orders", reason=attack)
    try:
        alice.question(dag, run)
        page.go(f"{alice.http.base_url}/dags/{dag}/runs/{run}/tasks/approval/required_actions")
        page.wait("document.body && document.body.innerText.includes('as the requester wrote it')")
        shown = page.text()
        for said in ("What moves: ", "What is lost: ", "If it fails: ", "Only alice or bob may answer"):
            assert said in shown
        assert page.ask("[...document.querySelectorAll('h1, h2, h3')].every(each => each.innerText !== 'Dry run')")
        assert page.ask("[...document.querySelectorAll('a')].every(each => !each.href.includes('www.a.com'))")
        for typed in ("<!--", "# Dry run", "<script>document.title", "\\u202e"):
            assert typed in shown
        for address, said in PAGES.items():
            assert_walked_by_keyboard(page, f"{alice.http.base_url}/kafka-dr/{address.format(run=run)}", said)
        page.resize(390, 800)
        page.go(f"{alice.http.base_url}/kafka-dr/evidence/orders/{run}")
        page.wait("document.body && document.body.innerText.includes('Step by step')")
        assert page.ask("document.documentElement.scrollWidth") <= 390
    finally:
        page.resize(1200, 1600)
        alice.end(dag, run)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "dags",
    [
        pytest.param(("dr_planned_failover", "dr_flows"), id="some"),
        pytest.param(tuple(DAG_IDS), id="all", marks=pytest.mark.long),
    ],
)
def test_a_parameter_that_no_dag_has_ends_its_run_before_anything_else(
    alice: AirflowSession, dags: tuple[str, ...]
) -> None:
    """That the first task of every DAG refuses it is shown without Airflow in test_integrity."""
    runs = {dag: alice.trigger(dag, dryrun=True, **NEEDED.get(dag, {})) for dag in dags}
    for dag, run in runs.items():
        assert alice.ended(dag, run) == "failed", dag
        states = alice.tasks(dag, run)
        # The last one fails because the first one did.
        endings = {states.pop(last) for last in _LAST if last in states}
        (first,) = (task for task, state in states.items() if state == "failed")
        later = {task: state for task, state in states.items() if task not in (first, "roll_back", "give_back")}
        assert endings <= {"failed"}, (dag, endings)
        assert set(later.values()) <= {"upstream_failed"}, (dag, states)
        log = alice.log(dag, run, first)
        assert f"{dag} was triggered with a parameter that it does not have: 'dryrun'" in log
    assert "did you mean 'dry_run'?" in alice.log("dr_planned_failover", runs["dr_planned_failover"], "preflight")


@pytest.mark.parametrize("wrong", ["true", 1, None])
def test_a_value_of_the_wrong_type_starts_no_run(alice: AirflowSession, wrong: object) -> None:
    asked = {"conf": {"reason": "a test", "dry_run": wrong}, "logical_date": None}
    reply = alice.http.post("/api/v2/dags/dr_planned_failover/dagRuns", json=asked)
    assert reply.status_code == 400
    assert "Invalid input for param dry_run" in reply.text
