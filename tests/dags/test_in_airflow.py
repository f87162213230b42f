"""What only a real Airflow shows: who may answer, what an answer does, how long it may be given, who sees what."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest

from kafka_dr.metrics.openmetrics import CONTENT_TYPE
from support.browser import link
from support.prometheus import samples_in

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

DAG = "dr_planned_failover"
GROUP = "orders"
NOTES = "kafka_dr_airflow_api"
BY_US = "[DR status](/kafka-dr/status) (written by this DAG)"
SCHEDULED = {
    "dr_canary",
    "dr_checksum_audit",
    "dr_config_sync",
    "dr_flows",
    "dr_health",
    "dr_lag_audit",
    "dr_notifications",
    "dr_offset_syncs",
    "dr_offsets",
    "dr_readiness",
}
NO = "not <!-- tonight **"
AFTER_APPROVAL = {"switch", "verify", "start_reverse_flow", "report", "roll_back"}


def asked(session: AirflowSession, *, source: str = "east", target: str = "west") -> tuple[str, dict[str, Any]]:
    """Trigger a failover, and return its run and the fields that its form is filled in with."""
    run = session.trigger(DAG, protection_group=GROUP, source=source, target=target, reason="a test")
    question = session.question(DAG, run)
    return run, {name: field["value"] for name, field in question["params"].items()}


def assert_ended_unchanged(session: AirflowSession, run: str, *, approval: str, note: str) -> None:
    """Nothing was changed, and nobody takes the run for a switch: it is not green, and its note says why."""
    assert session.ended(DAG, run) == "failed"
    tasks = session.tasks(DAG, run)
    assert tasks["outcome"] == "failed"
    assert session.note(DAG, run) == f"{note} {BY_US}"
    log = session.log(DAG, run, "outcome")
    assert note.split("\n")[-1].split(":")[0] in log
    assert "Traceback" not in log, "it has tries left, and is final"
    assert tasks["approval"] == approval
    assert {name: tasks[name] for name in AFTER_APPROVAL} == dict.fromkeys(AFTER_APPROVAL, "skipped")


@pytest.mark.usefixtures("unchanged")
def test_only_approvers_may_answer_and_no_ends_the_run_with_nothing_changed(
    airflow: QuickLab, alice: AirflowSession
) -> None:
    from support.airflow_lab import AirflowSession

    run, fields = asked(alice)
    waits = f"/kafka-dr/question/{DAG}/{GROUP}/{quote(run, safe='')}"
    assert waits in alice.http.get("/kafka-dr/status").text
    for stranger in ("carol", "admin"):
        reply = AirflowSession(airflow, stranger).answer(DAG, run, "Approve", fields)
        assert reply.status_code == 403, stranger
    person = "Window: 22:00 to 23:00."
    path = f"/api/v2/dags/{DAG}/dagRuns/{run}?update_mask=note"
    assert alice.http.patch(path, json={"note": person}).is_success
    # What a program types into a field that nobody asked for ties the answer to nothing.
    assert fields.keys() == {"reason"}
    assert alice.answer(DAG, run, "Reject", {"digest": "0" * 64, "reason": NO}).status_code == 200
    note = f"{person}\n\nREJECTED by alice: not \\<\\!-- tonight \\*\\*"
    assert_ended_unchanged(alice, run, approval="success", note=note)
    assert waits not in alice.http.get("/kafka-dr/status").text
    log = alice.log(DAG, run, "approval", attempt=alice.attempts(DAG, run, "approval"))
    assert "rejected by alice" in log
    page = alice.http.get(f"/kafka-dr/evidence/{GROUP}/{run}")
    assert "not &lt;!-- tonight" in page.text


def test_people_who_click_at_the_same_time_do_not_stop_airflow(airflow: QuickLab, alice: AirflowSession) -> None:
    with ThreadPoolExecutor(8) as people:
        answers = list(people.map(lambda _: alice.unpause("dr_canary"), range(80)))
    assert set(answers) == {200}


@pytest.mark.usefixtures("unchanged")
def test_an_approval_that_somebody_marks_as_done_is_none(alice: AirflowSession) -> None:
    run, _ = asked(alice)
    alice.mark(DAG, run, "approval", "success")
    assert alice.ended(DAG, run) == "failed"
    tasks = alice.tasks(DAG, run)
    assert (tasks["switch"], tasks["verify"]) == ("failed", "upstream_failed")
    assert (tasks["roll_back"], tasks["outcome"]) == ("skipped", "failed")
    assert "has no answer to approval of run" in alice.log(DAG, run, "switch")
    assert "there is nothing to undo" in alice.log(DAG, run, "roll_back")


@pytest.mark.usefixtures("unchanged")
def test_a_cleared_approval_shows_no_old_facts_and_ends_the_run(alice: AirflowSession) -> None:
    run, _ = asked(alice)
    alice.clear(DAG, run, ["approval"])
    nothing = "only the first try of an approval asks, and Airflow has no answer to it"
    note = f"REFUSED at approval: {nothing}. Nothing was changed: trigger a new run"
    assert_ended_unchanged(alice, run, approval="skipped", note=note)
    log = alice.log(DAG, run, "approval", attempt=alice.attempts(DAG, run, "approval"))
    assert nothing in log
    assert f"/dags/{DAG}" in log


@pytest.mark.usefixtures("unchanged")
def test_an_approval_that_nobody_gives_expires(airflow: QuickLab, alice: AirflowSession) -> None:
    run, _ = asked(alice)
    assert alice.ended(DAG, run, seconds=airflow.expiry_seconds + 60) == "failed"
    note = "EXPIRED: nobody answered in time; nothing was changed. A new run asks again"
    assert_ended_unchanged(alice, run, approval="skipped", note=note)
    assert "Nobody answered before the approval expired" in alice.log(DAG, run, "approval")


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_a_dry_run_checks_every_step_and_changes_nothing(alice: AirflowSession) -> None:
    run = alice.trigger(DAG, protection_group=GROUP, reason="a rehearsal", dry_run=True)
    assert alice.ended(DAG, run) == "success", alice.why(DAG, run)
    skipped = dict.fromkeys(("approval", *AFTER_APPROVAL), "skipped")
    assert alice.tasks(DAG, run) == {"preflight": "success", **skipped, "outcome": "success"}
    assert str(alice.note(DAG, run)).startswith(f"DRY RUN: a planned failover of {GROUP}, east → west: nothing was ch")
    assert "would: deny WRITE on east" in alice.log(DAG, run, "preflight")


@pytest.mark.usefixtures("unchanged")
def test_a_second_run_is_refused_by_its_first_task_while_one_waits(airflow: QuickLab, alice: AirflowSession) -> None:
    with airflow.declaring({"approval_expiry_seconds": 900}):
        first, _ = asked(alice)
    second = alice.trigger(DAG, protection_group=GROUP, reason="twice")
    assert alice.ended(DAG, second) == "failed"
    said = str(alice.note(DAG, second))
    assert said.startswith("REFUSED at preflight: ")
    assert f"waits for an answer ({first})" in alice.log(DAG, second, "preflight")
    assert alice.tasks(DAG, second)["approval"] == "upstream_failed"
    page = alice.http.get(f"/kafka-dr/start/{DAG}/{GROUP}").text
    assert "REFUSED NOW" in page
    alice.end(DAG, first)


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_a_run_that_names_the_wrong_cluster_stops_before_anybody_is_asked(alice: AirflowSession) -> None:
    run = alice.trigger(DAG, protection_group=GROUP, source="west", target="east", reason="a mistake")
    assert alice.ended(DAG, run) == "failed"
    assert alice.tasks(DAG, run)["approval"] == "upstream_failed"
    assert "active on east" in alice.log(DAG, run, "preflight")
    assert str(alice.note(DAG, run)).startswith("REFUSED at preflight: ")


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_a_note_that_airflow_does_not_take_holds_up_and_fails_no_run(airflow: QuickLab, alice: AirflowSession) -> None:
    from support.airflow_lab import AirflowSession

    admin, path = AirflowSession(airflow, "admin"), f"/api/v2/connections/{NOTES}"
    kept = admin.http.get(path).json()
    names = {key: kept[key] for key in ("connection_id", "conn_type", "host", "port", "schema", "login")}
    assert admin.http.patch(f"{path}?update_mask=password", json={**names, "password": "wrong"}).is_success
    try:
        refused = alice.trigger(DAG, protection_group=GROUP, reason="a rehearsal", dry_run=True)
        assert alice.ended(DAG, refused) == "success", alice.why(DAG, refused)
        assert admin.http.delete(path).is_success
        missing = alice.trigger(DAG, protection_group=GROUP, reason="a rehearsal", dry_run=True)
        assert alice.ended(DAG, missing) == "success", alice.why(DAG, missing)
    finally:
        admin.http.delete(path)
        password = json.loads(airflow.status().airflow.passwords.read_text())[kept["login"]]
        assert admin.http.post("/api/v2/connections", json={**names, "password": password}).is_success
    for run, said in ((refused, "Airflow's API did not accept it"), (missing, f"Airflow has no connection {NOTES}")):
        assert alice.note(DAG, run) is None
        assert said in alice.log(DAG, run, "outcome")


def test_airflow_runs_every_scheduled_dag_without_anybody_who_unpauses_it(alice: AirflowSession) -> None:
    dags = {dag["dag_id"]: dag for dag in alice.http.get("/api/v2/dags").json()["dags"]}
    assert not [name for name, dag in dags.items() if dag["is_paused"]]
    scheduled = {name for name, dag in dags.items() if dag["next_dagrun_run_after"]}
    assert scheduled == {name for name, dag in dags.items() if dag["timetable_summary"]} == SCHEDULED


def test_the_canary_arrives(alice: AirflowSession) -> None:
    run = alice.trigger("dr_canary")
    assert alice.ended("dr_canary", run) == "success"


@pytest.fixture(scope="module")
def looked(airflow: QuickLab) -> str:
    """A run of health that has ended, and was green."""
    from support.airflow_lab import AirflowSession

    alice = AirflowSession(airflow, "alice")
    run = alice.trigger("dr_health")
    assert alice.ended("dr_health", run) == "success", alice.why("dr_health", run)
    return run


def test_health_is_green_and_proposes_nothing(alice: AirflowSession, looked: str) -> None:
    assert alice.tasks("dr_health", looked)["propose"] == "skipped"
    # A watch that proposes nothing shows no button.
    assert alice.links("dr_health", looked, "propose") == {}
    page = alice.http.get("/kafka-dr/status").text
    assert f"/dags/dr_health/runs/{quote(looked, safe='')}" in page
    assert "Active on east, standby west: stable since" in page
    assert 'href="/kafka-dr/groups/orders"' in page
    assert "Readiness of an unplanned failover, " in alice.http.get("/kafka-dr/groups/orders").text
    result = alice.http.get("/kafka-dr/results/orders/health").text
    assert looked in result
    assert all(f'href="/kafka-dr/{back}"' in result for back in ("status", "groups/orders"))


@pytest.mark.usefixtures("looked")
def test_prometheus_reads_metrics_with_a_token_and_nobody_without(airflow: QuickLab, alice: AirflowSession) -> None:
    page = alice.http.get("/kafka-dr/metrics", headers={"Accept": "application/openmetrics-text"})
    assert page.headers["content-type"] == CONTENT_TYPE
    found = {frozenset(labels): value for labels, value in samples_in(page.text).items()}
    phase = {"__name__": "kafka_dr_phase", "group": "orders", "phase": "stable"}
    assert found[frozenset(phase.items())] == 1
    address = f"{airflow.status().airflow.url}/kafka-dr/metrics"
    assert httpx.get(address).status_code == 401
    assert httpx.get(address, headers={"Authorization": "Bearer nobody"}).status_code in (401, 403)


@pytest.mark.parametrize("audit", ["checksum", pytest.param("lag", marks=pytest.mark.long)])
def test_an_audit_runs_on_spark_and_shows_what_it_found(alice: AirflowSession, page: Page, audit: str) -> None:
    dag, task = f"dr_{audit}_audit", f"{audit}_audit"
    run = alice.trigger(dag)
    assert alice.ended(dag, run, seconds=600) == "success", alice.log(dag, run, task, map_index=0)
    ((left,),) = (alice.result(dag, run, task, map_index=0),)
    report = f"/kafka-dr/{left['facts']['report'].removesuffix('/report.json')}"
    shown = alice.http.get(report)
    assert f"{audit.capitalize()} audit of orders, east-to-west" in shown.text
    page.go(f"{alice.http.base_url}/dags/{dag}/runs/{quote(run)}/tasks/{task}/mapped/0/details")
    assert f"{audit.capitalize()} audit of orders, east-to-west" in page.click_to(link("Audit"), quote(report)).text()
    kept = left["facts"]["report"].removesuffix("/report.json").replace("+", "%2B").replace(":", "%3A")
    everything = alice.http.get("/kafka-dr/groups/orders").text
    assert f'href="/kafka-dr/{kept}"' in everything
    assert "newest.json" not in everything
    assert 'href="/kafka-dr/groups/orders"' in shown.text
    assert f"orders.east-to-west: {left['facts']['verdict']}: " in alice.log(dag, run, task, map_index=0)
    assert alice.asset_events(dag, run) == [f"kafka-dr://orders/east-to-west/{audit}"]
    assert alice.tasks(dag, run) == {"shares": "success", task: "success", "results": "success", "red": "skipped"}
    assert f"/dags/{dag}/runs/{quote(run, safe='')}" in alice.http.get("/kafka-dr/status").text


@pytest.mark.long
def test_the_preview_shows_every_groups_offsets_and_mirrormakers_own_checkpoints(
    airflow: QuickLab, alice: AirflowSession
) -> None:
    from kafka_dr.clusters import TopicPartition
    from support.configured_group import reached_as_admin

    with reached_as_admin(airflow, "east") as east:
        east.groups.set_offsets({"orders-idle": {TopicPartition("orders.payments", 0): 0}})
    run = alice.trigger("dr_offset_syncs")
    assert alice.ended("dr_offset_syncs", run) == "success"
    assert "syncs archived, up to" in alice.log("dr_offset_syncs", run, "look")
    run = alice.trigger("dr_offsets")
    assert alice.ended("dr_offsets", run) == "success", alice.log("dr_offsets", run, "look")
    (address,) = re.findall(
        r"its report: (/kafka-dr/audits/orders/offsets/[\w./:+-]+)", alice.log("dr_offsets", run, "look")
    )
    page = alice.http.get(address).text
    assert "exact" in page
    assert "orders-idle" in page
    assert "s own checkpoints</th>" in page


def test_the_config_sync_makes_what_is_safe_and_asks_about_the_rest(airflow: QuickLab, alice: AirflowSession) -> None:
    from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
    from support.configured_group import RawAdmin, reached_as_admin

    topic, dag = "orders.invoices", "dr_config_sync"
    extra = Acl(
        ResourceType.TOPIC,
        "orders.",
        PatternType.PREFIXED,
        "User:orders-app",
        AclOperation.ALTER,
        AclPermission.ALLOW,
    )
    RawAdmin(dict(airflow.client_settings("east", "admin"))).configure(topic, max_message_bytes="2000000")
    with reached_as_admin(airflow, "west") as west:
        west.acls.add([extra])
        run = alice.trigger(dag)
        question = alice.question(dag, run)
        assert "ALLOW ALTER on topic orders." in question["body"]
        assert "max.message.bytes" in alice.log(dag, run, "look")
        assert west.topics.configs([topic])[topic]["max.message.bytes"] == "2000000"
        assert extra in west.acls.list()
        fields = {name: field["value"] for name, field in question["params"].items()}
        assert alice.answer(dag, run, "Approve", fields, mapped=0).status_code == 200
        assert alice.ended(dag, run) == "success", alice.tasks(dag, run)
        assert extra not in west.acls.list()
    page = alice.http.get(f"/kafka-dr/evidence/{GROUP}/{run}").text
    assert "What differs" in page
    assert "approved" in page


@pytest.mark.long
@pytest.mark.usefixtures("unchanged")
def test_a_disaster_is_proposed_once_and_its_run_closes_itself_when_the_cause_is_gone(
    airflow: QuickLab, alice: AirflowSession, page: Page
) -> None:
    from support.vantage import vantage

    dag, broker = "dr_unplanned_failover", "east-broker-1"

    def proposals() -> dict[str, str]:
        """Let health look, and return what it has proposed by now."""
        looked = alice.trigger("dr_health")
        alice.ended("dr_health", looked)
        found = {run: state for run, state in alice.runs(dag).items() if run.startswith("proposed-")}
        assert len(found) == 1, alice.log("dr_health", looked, "look")
        return found

    with vantage() as office, airflow.proposing(office.address):
        assert alice.ended("dr_canary", alice.trigger("dr_canary")) == "success"
        airflow.pause(broker)
        try:
            (run,) = proposals()
            question = alice.question(dag, run)
            assert proposals() == {run: "running"}
            assert alice.tasks(dag, run)["approval"] == "awaiting_input"
        finally:
            airflow.resume(broker)
        office.says = {"up": True}
        assert proposals().keys() == {run}
        assert alice.ended(dag, run) == "failed"
        assert proposals() == {run: "failed"}

    assert "seen by this installation, office" in question["body"]
    # A look that is scheduled meanwhile, or found nothing to propose, has no such task.
    proposing = [each for each in alice.runs("dr_health") if 0 in alice.mapped("dr_health", each, "propose")]
    looked = next(each for each in proposing if alice.links("dr_health", each, "propose", map_index=0))
    page.go(f"{alice.http.base_url}/dags/dr_health/runs/{looked}/tasks/propose/mapped/0/details")
    page.click_to(link("Proposed run"), f"/dags/{dag}/runs/{quote(run, safe='')}")
    tasks = alice.tasks(dag, run)
    assert (tasks["gather_evidence"], tasks["approval"], tasks["switch"]) == (
        "failed",
        "upstream_failed",
        "upstream_failed",
    )
    assert "east answers and shows none of" in alice.log(dag, run, "gather_evidence", attempt=2)


@pytest.mark.long
def test_a_plan_with_no_difference_asks_nobody(alice: AirflowSession) -> None:
    planned = alice.trigger("dr_config_sync")
    assert alice.ended("dr_config_sync", planned) == "success", alice.why("dr_config_sync", planned)
    assert set(alice.tasks("dr_config_sync", planned)) == {"look", "red", "approval", "apply", "outcome"}
    assert alice.tasks("dr_config_sync", planned)["approval"] == "skipped"
