"""The page of a question about a planned failover, and what Airflow has of its answer."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from support.airflow_lab import AirflowSession
from support.browser import Page

DAG, GROUP = "dr_planned_failover", "orders"
SHOWN = "document.readyState === 'complete' && document.querySelector('.answer')"


def address(session: AirflowSession, run: str) -> str:
    """Return where a run's question is."""
    return f"{session.http.base_url}/kafka-dr/question/{DAG}/{GROUP}/{quote(run, safe='')}"


def opened(page: Page, session: AirflowSession, run: str) -> str:
    """Open a run's question, and return what is read there."""
    page.go("about:blank")
    page.go(address(session, run))
    page.wait(SHOWN)
    return page.text()


def said(page: Page, words: str) -> None:
    """Wait until the page says that."""
    page.wait(f"document.getElementById('said').innerText.includes({json.dumps(words)})")


def taken(session: AirflowSession, run: str) -> dict[str, Any]:
    """Return what Airflow has of the answer."""
    (found,) = session.http.get(f"/api/v2/dags/{DAG}/dagRuns/{run}/hitlDetails").json()["hitl_details"]
    return dict(found)
