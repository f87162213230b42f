"""Where a page leads to a run: to the run that Airflow has, and to what is kept of it."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pytest

from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr_airflow.task_clients import open_clients
from support.kept_metrics import keep

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from kafka_dr_airflow.views.kept_pages import AirflowRun

AIRFLOW_RUN = "manual__2026-11-27T19:03:21.123456+00:00_aB1cD"


def shown_by(dag_id: str, run: str, verb: str, *, airflow_run: str = AIRFLOW_RUN) -> None:
    """Show a step as a task of Airflow does, or as the command line does."""
    named = {"AIRFLOW_CTX_DAG_ID": dag_id, "AIRFLOW_CTX_DAG_RUN_ID": airflow_run} if dag_id else {}
    with open_clients({**os.environ, **named}) as clients:
        clients.shown.begins("orders", run, verb, "planned_drill", holds=False)
        clients.shown.last_words(10)


@pytest.mark.parametrize(
    ("dag_id", "run", "verb"),
    [
        ("dr_drill", "20261127190321", "drill"),
        ("dr_resume", "manual__2026-11-27T18:00:00+00:00", "planned_failover"),
        ("dr_planned_failover", AIRFLOW_RUN, "planned_failover"),
    ],
)
@pytest.mark.parametrize("address", ["/status", "/groups/orders"])
def test_the_run_in_airflow_is_the_one_that_airflow_has(
    root: Path, pages: TestClient, dag_id: str, run: str, verb: str, address: str
) -> None:
    keep(root)
    shown_by(dag_id, run, verb)
    (href,) = re.findall(r'href="([^"]*)">The run in Airflow<', pages.get(address).text)
    assert unquote(html.unescape(href)).partition("/dags/")[2] == f"{dag_id}/runs/{AIRFLOW_RUN}"


def test_a_drill_of_the_command_line_has_no_run_in_airflow(root: Path, pages: TestClient) -> None:
    keep(root)
    shown_by("", "20261127190321", "drill")
    shown = pages.get("/status").text
    assert ("20261127190321" in shown, "The run in Airflow" in shown) == (True, False)


def test_a_drill_leads_to_the_drills_of_its_group(root: Path, pages: TestClient) -> None:
    keep(root)
    shown_by("dr_drill", "20261127190321", "drill")
    (href,) = re.findall(r'href="([^"]*)">[^<]*: all drills<', pages.get("/status").text)
    page, _, part = href.removeprefix("/kafka-dr").partition("#")
    there = pages.get(page)
    assert there.status_code == 200
    assert f'<h2 id="{part}">Drills</h2>' in there.text
    known = pages.get("/evidence/orders/20261127190321", follow_redirects=False)
    assert (known.status_code, known.headers["location"]) == (303, href)


def test_a_form_leads_to_the_page_of_its_run_which_waits_for_the_first_step(
    root: Path, pages: TestClient, started_runs: dict[str, AirflowRun]
) -> None:
    from kafka_dr_airflow.views.kept_pages import AirflowRun

    keep(root)
    for dag_id in FORMS:
        (there,) = re.findall(r'data-runs="([^"]*)"', pages.get(f"/start/{dag_id}/orders").text)
        page = f"{there.removeprefix('/kafka-dr')}r1"
        started_runs.clear()
        assert pages.get(page).status_code == 404, "Airflow has no such run"
        started_runs["r1"] = AirflowRun(dag_id, has_ended=False, note="")
        begun = pages.get(page)
        assert (begun.status_code, "Airflow has started it" in begun.text) == (200, True)
        assert '<meta http-equiv="refresh" content="5">' in begun.text
        assert f"/dags/{dag_id}/runs/r1" in begun.text
        assert "refresh" not in pages.get(f"{page}?reload=false").text
        started_runs["r1"] = AirflowRun(dag_id, has_ended=True, note=r"NOT BEGUN: orders is diverged \(epoch 3\)")
        over = pages.get(page).text
        assert ("NOT BEGUN: orders is diverged (epoch 3)" in over, "refresh" in over) == (True, False)
        started_runs["r1"] = AirflowRun(dag_id, has_ended=True, note="")
        assert "its logs in Airflow say why" in pages.get(page).text


def test_the_page_to_which_the_form_of_a_drill_leads_becomes_that_of_the_drills(
    root: Path, pages: TestClient, started_runs: dict[str, AirflowRun]
) -> None:
    from kafka_dr_airflow.views.kept_pages import AirflowRun

    keep(root)
    started_runs[AIRFLOW_RUN] = AirflowRun("dr_drill", has_ended=False, note="")
    shown_by("dr_drill", "20261127190321", "drill")
    there = pages.get(f"/evidence/orders/{quote(AIRFLOW_RUN, safe='')}", follow_redirects=False)
    assert there.headers["location"] == "/kafka-dr/groups/orders#drills"
