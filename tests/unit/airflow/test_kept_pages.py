"""The pages over stored files, as the API server serves them: whole, damaged, missing and hostile, always readable."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from kafka_dr.watch_results import (
    WATCHES,
    FiguresOverTime,
    KeptResult,
    OpenRun,
    OpenRuns,
    WatchName,
    WatchResultStore,
)
from support.kept_metrics import FACTS, REGISTER, keep
from support.kept_situations import keep_situation, topology_of
from support.visible_text import visible_words

HOSTILE = '"><script>alert(1)</script>\u202e'


def test_what_was_measured_over_time_is_drawn_on_the_page_of_the_group(root: Path, pages: TestClient) -> None:
    keep(root)
    FiguresOverTime(root, "readiness").add(datetime.now(UTC), {"orders": {"planned_failover": 90}}, declared=["orders"])
    page = pages.get("/groups/orders").text
    for title in (
        "Data at risk (RPO), by the canary",
        "Data at risk (RPO), by what was compared",
        "Replication lag",
        "Readiness of a planned failover",
    ):
        assert f"<h2>{title}" in page
    assert page.count("<polyline") == 4
    assert "the objective 60 s" in page


def test_a_damaged_day_says_so_and_leaves_the_rest(root: Path, pages: TestClient) -> None:
    keep(root)
    (path,) = (root / "watches" / ".figures" / "canary").iterdir()
    path.write_text("{")
    page = pages.get("/groups/orders").text
    assert "what was measured on" in page
    assert "Replication lag" in page


def test_every_file_damaged_at_once_and_hostile_names_leave_readable_pages(root: Path, pages: TestClient) -> None:
    keep(root, HOSTILE)
    for address in ("/status", "/groups/orders", "/results/orders/health"):
        assert "<script>alert" not in pages.get(address).text
    for path in root.rglob("*.json"):
        path.write_text('{"schema_version":1,"groups":{"orders":{}},"figures":[],"runs":[{}]}')
    for address in ("/status", "/groups/orders", "/results/orders/health"):
        answer = pages.get(address)
        assert (answer.status_code, "UNKNOWN" in answer.text) == (200, True), address


@pytest.mark.parametrize("watch", WATCHES)
def test_the_page_of_a_result_survives_facts_of_any_shape(root: Path, pages: TestClient, watch: WatchName) -> None:
    facts = {
        "verbs": 1,
        "recorded_at": "soon",
        "matched_topics": [{"topic": 1, "since": 2}],
        "latency": 3,
        "silent": {"x": []},
    }
    found = KeptResult("orders", watch, "ok", ("all is good",), datetime.now(UTC), facts=facts)
    WatchResultStore(root).keep_round(watch, [found], declared=["orders"])
    assert pages.get(f"/results/orders/{watch}").status_code == 200


@pytest.mark.parametrize("watch", WATCHES)
def test_the_page_of_a_result_says_what_was_found_in_a_hundred_words_and_names_no_key(
    root: Path, pages: TestClient, watch: WatchName
) -> None:
    keep(root)
    page = pages.get(f"/results/orders/{watch}").text
    assert len(visible_words(page)) <= 100
    labels = set(re.findall(r"<t[dh][^>]*>([^<]*)", page)) - {"standby_space"}
    assert not {each for each in labels if "_" in each}, "the names of checks are those of the runbook"
    keys = {key.replace("_", " ").capitalize() for key in FACTS.get(watch, {}) if "_" in key}
    assert labels & keys <= {"Approved by", "Consumer groups"}, "these are words of people, too"
    assert len(FACTS.get(watch, {})) < 3 or "Everything that was measured" in page


def test_a_form_is_filled_in_from_what_health_read_and_only_its_own_script_runs(root: Path, pages: TestClient) -> None:
    keep(root)
    answer = pages.get("/start/dr_planned_failover/orders")
    page, policy = answer.text, answer.headers["content-security-policy"]
    assert 'data-group="orders"' in page
    assert 'data-api="/api/v2/dags/dr_planned_failover/dagRuns"' in page
    assert '<option value="east" selected>' in page
    assert '<option value="west" selected>' in page
    assert "Can it be moved to west now? YES" in page
    (nonce,) = re.findall(r'<script nonce="([^"]+)">', page)
    assert f"script-src 'nonce-{nonce}'" in policy
    assert "frame-ancestors 'none'" in policy
    assert nonce not in pages.get("/start/dr_planned_failover/orders").text


def test_where_the_register_is_not_known_the_form_leaves_the_clusters_to_it(root: Path, pages: TestClient) -> None:
    page = pages.get("/start/dr_unplanned_failover/orders").text
    assert page.count('<option value="" selected>') == 2
    assert "UNKNOWN" in page


@pytest.mark.parametrize(
    "address", ["/start/dr_health/orders", "/start/dr_drill/nobody", "/start/dr_drill/%3Cscript%3E"]
)
def test_there_is_no_form_of_another_dag_or_group(root: Path, pages: TestClient, address: str) -> None:
    answer = pages.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "<script>" not in answer.text


def test_the_status_page_opens_the_forms_of_a_group(root: Path, pages: TestClient) -> None:
    keep(root)
    page = pages.get("/status").text
    assert 'href="/kafka-dr/start/dr_planned_failover/orders"' in page
    assert 'href="/kafka-dr/start/dr_failback/orders"' not in page


@pytest.mark.parametrize("address", ["/groups/nosuch", "/results/nosuch/health"])
def test_a_group_that_nobody_declared_is_not_found_unless_something_is_kept_of_it(
    root: Path, pages: TestClient, address: str
) -> None:
    keep(root)
    answer = pages.get(address)
    assert answer.status_code == 404
    assert "There is no protection group nosuch, and nothing is kept of one. Those of the topology are: orders" in (
        answer.text
    )
    (root / "runs" / "nosuch" / "run-1").mkdir(parents=True)
    assert pages.get("/groups/nosuch").status_code == 200


def test_a_declared_group_of_which_nothing_is_kept_yet_has_its_pages(root: Path, pages: TestClient) -> None:
    for address in ("/groups/orders", "/results/orders/health"):
        answer = pages.get(address)
        assert (answer.status_code, "UNKNOWN" in answer.text) == (200, True), address


def waits(root: Path) -> None:
    now = datetime.now(UTC)
    run = OpenRun(
        "orders", "m9", "dr_planned_failover", "Move orders?", ("alice", "bob"), now, now + timedelta(hours=1)
    )
    OpenRuns(root).ask(run)


def test_a_form_says_before_it_is_sent_what_the_first_task_would_refuse(
    root: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep(root)
    assert "data-needed=" not in pages.get("/start/dr_unplanned_failover/orders").text
    declared, alone = Path(os.environ["KAFKA_DR_TOPOLOGY"]), tmp_path / "alone.yaml"
    alone.write_text(re.sub(r"(?m)^    disaster:\n(      .*\n)+", "", declared.read_text()))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(alone))
    page = pages.get("/start/dr_unplanned_failover/orders").text
    assert "Needed now: the topology needs 2 vantages that see the cluster down and has 1" in page
    assert page.count("data-needed=") == 1
    assert "REFUSED NOW" not in page
    monkeypatch.setitem(REGISTER, "recorded_at", datetime.now(UTC).isoformat())
    monkeypatch.setitem(FACTS["health"], "recorded_at", datetime.now(UTC).isoformat())
    keep(root)
    waits(root)
    page = pages.get("/start/dr_unplanned_failover/orders").text
    assert "less than hold_down_seconds (60 s) ago" in page
    assert page.count("data-needed=") == 2
    assert "REFUSED NOW" not in page, "a planned failover that waits holds up no unplanned one"
    planned = pages.get("/start/dr_planned_failover/orders").text
    assert "Move orders? alice or bob may answer that until " in planned
    assert ("REFUSED NOW" in planned, "data-needed=" in planned) == (True, False)
    assert "REFUSED NOW" not in pages.get("/start/dr_drill/orders").text


def test_who_may_not_answer_reads_why_and_who_can(root: Path, pages: TestClient) -> None:
    from kafka_dr_airflow.views import evidence, kept_pages

    keep(root)
    waits(root)
    asked = pages.get("/status").text
    assert ("WAITS FOR YOU" in asked, "Read the question and answer it" in asked) == (True, True)
    evidence.app.dependency_overrides[kept_pages.reader] = lambda: "carol"
    other = pages.get("/status").text
    assert ("WAITS FOR YOU" in other, "Read the question and answer it" in other) == (False, False)
    assert "WAITS FOR OTHERS" in other
    assert "You are carol and were not asked, so Airflow would refuse your answer: Access Denied." in other
    assert "alice or bob may answer until" in other


def test_the_form_of_a_failback_that_needs_a_rebuild_has_it_chosen_and_says_why(root: Path, pages: TestClient) -> None:
    keep_situation(root, "diverged", datetime.now(UTC))
    assert '<option value="quarantine" selected>' in pages.get("/start/dr_failback/orders").text
    keep_situation(root, "needs_rebuild", datetime.now(UTC))
    form = pages.get("/start/dr_failback/orders").text
    assert '<option value="rebuild" selected>' in form
    assert "<b>Needed now: a rebuild, because orders.state on east is compacted" in form
    assert "/start/dr_failback/orders" in pages.get("/status").text


@pytest.mark.parametrize(
    ("dag_id", "situation", "refused"),
    [
        ("dr_drill", "diverged", "orders is diverged, and a drill must not be in its way"),
        ("dr_drill", "being_fenced", "orders is unfenced, and a drill must not be in its way"),
        ("dr_drill", "drill_running", "a drill of orders runs already"),
        ("dr_drill", "well", ""),
        ("dr_drill", "checks_late", ""),
        ("dr_failback", "well", "orders is stable, and a failback needs a group that is diverged"),
        ("dr_failback", "diverged", ""),
        ("dr_planned_failover", "well", ""),
        ("dr_unplanned_failover", "diverged", ""),
    ],
)
def test_a_form_says_before_it_is_sent_that_the_state_of_the_group_refuses_it(
    root: Path, pages: TestClient, dag_id: str, situation: str, refused: str
) -> None:
    keep_situation(root, situation, datetime.now(UTC))
    form = pages.get(f"/start/{dag_id}/orders").text
    assert ("REFUSED NOW" in form, refused in form) == (bool(refused), True)


def test_the_form_of_a_group_without_drills_refuses_one(
    root: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_situation(root, "well", datetime.now(UTC))
    topology = topology_of(root.parent, ["orders"])
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(topology))
    assert "REFUSED NOW" not in pages.get("/start/dr_drill/orders").text
    text = topology.read_text("utf-8")
    topology.write_text(re.sub(r"(?m)^    drill:\n(      .*\n|\n)+", "", text))
    assert "the topology declares no drills of orders" in pages.get("/start/dr_drill/orders").text


@pytest.mark.parametrize(
    ("situation", "said", "not_said"),
    [
        ("active_silent", "east, the active cluster, does not answer", "is down"),
        ("active_down", "By the topology&#39;s rule it is down: east shows unreachable.", "answers, as"),
        ("well", "east, the active cluster, answers, as dr_health saw it", "is down"),
        ("checks_late", "Gives up the active cluster", "as dr_health saw it"),
        ("nothing_known", "Gives up the active cluster", "as dr_health saw it"),
    ],
)
def test_the_form_of_an_unplanned_failover_says_what_was_seen_of_the_active_cluster_and_nothing_else(
    root: Path, pages: TestClient, situation: str, said: str, not_said: str
) -> None:
    keep_situation(root, situation, datetime.now(UTC))
    form = pages.get("/start/dr_unplanned_failover/orders").text.partition("<form")[0]
    assert (said in form, not_said in form) == (True, False)
