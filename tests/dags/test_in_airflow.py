"""What only a real Airflow shows: who may answer, what an answer does, how long it may be given, who sees what."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

DAG = "dr_planned_failover"
GROUP = "orders"
NOTES = "kafka_dr_airflow_api"
BY_US = "(written by this DAG)"
SCHEDULED = {
    "dr_canary",
    "dr_checksum_audit",
    "dr_config_sync",
    "dr_flows",
    "dr_health",
    "dr_lag_audit",
    "dr_offset_syncs",
    "dr_offsets",
}
NO = "not <!-- tonight **"
BEHIND = {
    "claim",
    "fence_source",
    "drain",
    "stop_flow",
    "cut_over_groups",
    "open_target",
    "flip_route",
    "verify",
    "start_reverse_flow",
    "report",
    "roll_back",
}


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
    assert {name: tasks[name] for name in BEHIND} == dict.fromkeys(BEHIND, "skipped")


@pytest.mark.usefixtures("unchanged")
def test_only_approvers_may_answer_and_no_ends_the_run_with_nothing_changed(
    airflow: QuickLab, alice: AirflowSession
) -> None:
    from support.airflow_lab import AirflowSession

    run, fields = asked(alice)
    for stranger in ("carol", "admin"):
        reply = AirflowSession(airflow, stranger).answer(DAG, run, "Approve", fields)
        assert reply.status_code == 403, stranger
    person = "Window: 22:00 to 23:00."
    path = f"/api/v2/dags/{DAG}/dagRuns/{run}?update_mask=note"
    assert alice.http.patch(path, json={"note": person}).is_success
    assert alice.answer(DAG, run, "Reject", {**fields, "reason": NO}).status_code == 200
    note = f"{person}\n\nREJECTED by alice: not \\<\\!-- tonight \\*\\*"
    assert_ended_unchanged(alice, run, approval="success", note=note)
    log = alice.log(DAG, run, "approval")
    assert "rejected by alice" in log
    page = alice.http.get(f"/kafka-dr/evidence/{GROUP}/{run}")
    assert "not &lt;!-- tonight" in page.text


def test_people_who_click_at_the_same_time_do_not_stop_airflow(airflow: QuickLab, alice: AirflowSession) -> None:
    with ThreadPoolExecutor(8) as people:
        answers = list(people.map(lambda _: alice.unpause("dr_canary"), range(80)))
    assert set(answers) == {200}


@pytest.mark.usefixtures("unchanged")
def test_a_yes_without_the_digest_of_the_facts_does_not_count(alice: AirflowSession) -> None:
    run, _ = asked(alice)
    assert alice.answer(DAG, run, "Approve", {}).status_code == 200
    note = "REFUSED at approval: approved by alice without the digest of the facts"
    assert_ended_unchanged(alice, run, approval="skipped", note=note)
    assert "approved by alice without the digest" in alice.log(DAG, run, "approval")


@pytest.mark.usefixtures("unchanged")
def test_a_yes_to_other_facts_does_not_count(alice: AirflowSession) -> None:
    run, fields = asked(alice)
    assert alice.answer(DAG, run, "Approve", {**fields, "digest": "0" * 64}).status_code == 200
    note = "REFUSED at approval: approved by alice with the digest of other facts than those of the question"
    assert_ended_unchanged(alice, run, approval="skipped", note=f"{note}: trigger a new run")


@pytest.mark.usefixtures("unchanged")
def test_an_approval_that_somebody_marks_as_done_is_none(alice: AirflowSession) -> None:
    run, _ = asked(alice)
    alice.mark(DAG, run, "approval", "success")
    assert alice.ended(DAG, run) == "failed"
    tasks = alice.tasks(DAG, run)
    assert (tasks["claim"], tasks["fence_source"]) == ("failed", "upstream_failed")
    assert (tasks["roll_back"], tasks["outcome"]) == ("success", "failed")
    assert "has no answer to approval of run" in alice.log(DAG, run, "claim")
    assert "there is nothing to undo" in alice.log(DAG, run, "roll_back")


@pytest.mark.usefixtures("unchanged")
def test_a_cleared_approval_does_not_show_old_facts_and_ends_the_run(alice: AirflowSession) -> None:
    run, _ = asked(alice)
    alice.clear(DAG, run, ["approval"])
    assert_ended_unchanged(alice, run, approval="skipped", note="NOT FINISHED: the last step recorded is approval")
    log = alice.log(DAG, run, "approval", attempt=2)
    assert "This run has asked for its approval before" in log
    assert f"/dags/{DAG}" in log


@pytest.mark.usefixtures("unchanged")
def test_an_approval_that_nobody_gives_expires(airflow: QuickLab, alice: AirflowSession) -> None:
    run, _ = asked(alice)
    assert alice.ended(DAG, run, seconds=airflow.expiry_seconds + 60) == "failed"
    note = "EXPIRED: nobody answered in time; nothing was changed"
    assert_ended_unchanged(alice, run, approval="skipped", note=note)
    assert "Nobody answered before the approval expired" in alice.log(DAG, run, "approval")


@pytest.mark.usefixtures("unchanged")
def test_a_dry_run_checks_every_step_and_changes_nothing(alice: AirflowSession) -> None:
    run = alice.trigger(DAG, protection_group=GROUP, reason="a rehearsal", dry_run=True)
    assert alice.ended(DAG, run) == "success", alice.why(DAG, run)
    states = alice.tasks(DAG, run)
    assert states.pop("roll_back") == "skipped"
    assert set(states.values()) == {"success"}
    assert str(alice.note(DAG, run)).startswith(f"DRY RUN: a planned failover of {GROUP}, east → west: nothing was ch")
    assert "would: deny WRITE on east" in alice.log(DAG, run, "fence_source")


@pytest.mark.usefixtures("unchanged")
def test_a_run_that_names_the_wrong_cluster_stops_before_anybody_is_asked(alice: AirflowSession) -> None:
    run = alice.trigger(DAG, protection_group=GROUP, source="west", target="east", reason="a mistake")
    assert alice.ended(DAG, run) == "failed"
    assert alice.tasks(DAG, run)["approval"] == "upstream_failed"
    assert "active on east" in alice.log(DAG, run, "preflight")
    assert str(alice.note(DAG, run)).startswith("REFUSED at preflight: ")


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


def test_health_is_green_and_proposes_nothing(alice: AirflowSession) -> None:
    run = alice.trigger("dr_health")
    assert alice.ended("dr_health", run) == "success", alice.log("dr_health", run, "health", map_index=0)
    assert alice.tasks("dr_health", run)["propose"] == "skipped"


@pytest.mark.parametrize("audit", ["checksum", pytest.param("lag", marks=pytest.mark.long)])
def test_an_audit_runs_on_spark_and_shows_what_it_found(alice: AirflowSession, audit: str) -> None:
    dag, task = f"dr_{audit}_audit", f"{audit}_audit"
    run = alice.trigger(dag)
    assert alice.ended(dag, run, seconds=600) == "success", alice.log(dag, run, task, map_index=0)
    left = alice.result(dag, run, task, map_index=0)
    page = alice.http.get(f"/kafka-dr/{left['report'].removesuffix('/report.json')}")
    assert f"{audit.capitalize()} audit of orders, east-to-west" in page.text
    assert f"orders.east-to-west: {left['verdict']}: " in alice.log(dag, run, task, map_index=0)
    assert alice.asset_events(dag, run) == [f"kafka-dr://orders/east-to-west/{audit}"]


def test_the_preview_shows_every_groups_offsets_and_mirrormakers_own_checkpoints(
    airflow: QuickLab, alice: AirflowSession
) -> None:
    from kafka_dr.clusters import TopicPartition
    from support.configured_group import reached_as_admin

    with reached_as_admin(airflow, "east") as east:
        east.groups.set_offsets({"orders-idle": {TopicPartition("orders.payments", 0): 0}})
    run = alice.trigger("dr_offset_syncs")
    assert alice.ended("dr_offset_syncs", run) == "success"
    assert "syncs archived, up to" in alice.log("dr_offset_syncs", run, "offset_syncs", map_index=0)
    run = alice.trigger("dr_offsets")
    assert alice.ended("dr_offsets", run) == "success", alice.log("dr_offsets", run, "offsets", map_index=0)
    left = alice.result("dr_offsets", run, "offsets", map_index=0)
    assert (left["verdict"], left["redelivered"]) == ("exact", 0)
    page = alice.http.get(f"/kafka-dr/{left['report'].removesuffix('/report.json')}").text
    assert "orders-idle" in page
    assert "Mm2 redelivered at most" in page


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
        assert "max.message.bytes" in alice.log(dag, run, "plan", map_index=0)
        assert west.topics.configs([topic])[topic]["max.message.bytes"] == "2000000"
        assert extra in west.acls.list()
        fields = {name: field["value"] for name, field in question["params"].items()}
        assert alice.answer(dag, run, "Approve", fields, mapped=0).status_code == 200
        assert alice.ended(dag, run) == "success", alice.tasks(dag, run)
        assert extra not in west.acls.list()
    page = alice.http.get(f"/kafka-dr/evidence/{GROUP}/{run}").text
    assert "What differs" in page
    assert "approved" in page


@pytest.mark.usefixtures("unchanged")
def test_a_disaster_is_proposed_once_and_its_run_closes_itself_when_the_cause_is_gone(
    airflow: QuickLab, alice: AirflowSession
) -> None:
    from support.vantage import vantage

    dag, broker = "dr_unplanned_failover", "east-broker-1"

    def proposals() -> dict[str, str]:
        """Let health look, and return what it has proposed by now."""
        looked = alice.trigger("dr_health")
        alice.ended("dr_health", looked)
        found = {run: state for run, state in alice.runs(dag).items() if run.startswith("proposed-")}
        assert len(found) == 1, alice.log("dr_health", looked, "propose", map_index=0)
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
    tasks = alice.tasks(dag, run)
    assert (tasks["gather_evidence"], tasks["approval"], tasks["claim"]) == (
        "failed",
        "upstream_failed",
        "upstream_failed",
    )
    assert "east answers and shows none of" in alice.log(dag, run, "gather_evidence", attempt=2)


def test_a_watch_that_proposes_nothing_shows_no_button(alice: AirflowSession) -> None:
    looked = alice.trigger("dr_health")
    assert alice.ended("dr_health", looked) == "success", alice.why("dr_health", looked)
    assert alice.links("dr_health", looked, "propose", map_index=0) == {}
    planned = alice.trigger("dr_config_sync")
    assert alice.ended("dr_config_sync", planned) == "success", alice.why("dr_config_sync", planned)
    for task in ("plan", "apply_safe", "approval"):
        for address in alice.links("dr_config_sync", planned, task, map_index=0).values():
            assert alice.http.get(address).status_code == 200, task


def approved(session: AirflowSession, *, source: str, target: str) -> str:
    """Start a failover, approve it, and return its run."""
    run, fields = asked(session, source=source, target=target)
    assert session.answer(DAG, run, "Approve", fields).status_code == 200
    return run


@pytest.fixture
def way(airflow: QuickLab) -> dict[str, str]:
    """From where the group is to where it is not."""
    state = airflow.state("east", GROUP)
    assert state is not None
    return {"source": state.active, "target": state.standby}


def test_a_step_that_fails_after_the_claim_is_rolled_back_and_applications_stay_where_they_were(
    airflow: QuickLab, alice: AirflowSession, way: dict[str, str]
) -> None:
    from support import plain_application

    with plain_application.above_all_fences(airflow, way["source"]):
        run = approved(alice, **way)
        assert alice.ended(DAG, run) == "failed"

    states = alice.tasks(DAG, run)
    ran = {"claim": "success", "fence_source": "success", "drain": "failed", "roll_back": "success"}
    assert {name: states[name] for name in BEHIND} == dict.fromkeys(BEHIND, "upstream_failed") | ran, states
    assert "A principal that the fence does not cover writes there" in alice.log(DAG, run, "drain")
    assert f"{GROUP} is stable on {way['source']} again" in alice.log(DAG, run, "roll_back")
    assert str(alice.note(DAG, run)).startswith(f"ROLLED BACK: {GROUP} is stable on {way['source']} again")
    plain_application.assert_works_only_on(airflow, GROUP, way["source"])


@pytest.mark.usefixtures("unchanged")
def test_there_is_nothing_to_resume_where_no_run_holds_the_group(alice: AirflowSession) -> None:
    resumed = alice.trigger("dr_resume", protection_group=GROUP, decision="abandon", reason="its Airflow is gone")
    assert alice.ended("dr_resume", resumed) == "failed"
    assert "no run holds it, so there is nothing to resume" in alice.log("dr_resume", resumed, "resume")


@pytest.mark.parametrize(
    ("decision", "died_after", "ends_on", "verdict"),
    [("abandon", "drained", "source", "Rolled back"), ("finish", "source_ends", "target", "Completed")],
)
def test_a_run_that_died_with_its_airflow_is_ended_from_the_register_alone(
    airflow: QuickLab,
    alice: AirflowSession,
    way: dict[str, str],
    decision: str,
    died_after: str,
    ends_on: str,
    verdict: str,
) -> None:
    from support import plain_application

    run = approved(alice, **way)
    airflow.wait_for_fact(died_after, GROUP, run, cluster=way["source"])
    airflow.lose_airflow()
    airflow.up()

    left = airflow.state(way["source"], GROUP)
    assert left is not None
    assert (left.phase, left.run) == ("switching", run)
    assert alice.runs(DAG) == {}
    assert plain_application.refusal(airflow, way["source"]) == "TOPIC_AUTHORIZATION_FAILED"

    reason = "its Airflow is gone"
    resumed = alice.trigger(
        "dr_resume", protection_group=GROUP, decision=decision, run=run, reason=reason, confirmed=True
    )
    assert alice.ended("dr_resume", resumed) == "success", alice.why("dr_resume", resumed)
    plain_application.assert_works_only_on(airflow, GROUP, way[ends_on])
    assert f"on {way[ends_on]}" in alice.log("dr_resume", resumed, "resume")
    assert str(alice.note("dr_resume", resumed)).startswith(
        {"abandon": "ABANDONED: ", "finish": "FINISHED: "}[decision]
    )
    evidence = alice.links("dr_resume", resumed, "resume")["Evidence"]
    assert evidence == f"/kafka-dr/evidence/{GROUP}/{run}"
    page = alice.http.get(evidence).text
    for words in (verdict, "a test", reason, "Sealed"):
        assert words in page


def test_no_password_of_the_lab_is_in_airflows_logs(airflow: QuickLab) -> None:
    passwords = {
        airflow.client_settings(cluster, principal)["sasl.password"]
        for cluster in ("east", "west")
        for principal in ("dr-operator", "probe", "audit", "replicator")
    }
    logs = [path for path in (airflow.home.airflow / "logs").rglob("*.log") if path.is_file()]
    assert logs
    assert not [path for path in logs for secret in passwords if secret in Path(path).read_text(errors="replace")]
