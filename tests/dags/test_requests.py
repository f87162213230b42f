"""What a real Airflow answers without any run: on pages of evidence, and about connections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest

from kafka_dr.evidence.page import script_source

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(900)]

GROUP = "orders"


def test_evidence_is_shown_to_nobody_who_is_not_logged_in(airflow: QuickLab) -> None:
    url = airflow.status().airflow.url
    page = f"{url}/kafka-dr/evidence/{GROUP}/any"
    assert httpx.get(page, timeout=60).status_code == 401
    browser = httpx.get(page, headers={"Accept": "text/html,*/*;q=0.8"}, timeout=60)
    assert browser.status_code == 303
    assert browser.headers["location"] == f"/api/v2/auth/login?next=%2Fkafka-dr%2Fevidence%2F{GROUP}%2Fany"
    for other in ("status", f"groups/{GROUP}", f"results/{GROUP}/health"):
        assert httpx.get(f"{url}/kafka-dr/{other}", timeout=60).status_code == 401, other


def test_without_evidence_a_browser_gets_a_page_that_says_so_and_a_program_json(
    alice: AirflowSession,
) -> None:
    page = f"/kafka-dr/evidence/{GROUP}/never-ran"
    assert alice.http.get(page).json() == {"detail": f"Run never-ran of {GROUP} has no evidence yet."}
    shown = alice.http.get(page, headers={"Accept": "text/html"})
    assert shown.status_code == 404
    assert shown.headers["content-type"].startswith("text/html")
    assert f"Run never-ran of {GROUP} has no evidence yet." in shown.text
    hostile = alice.http.get(
        "/kafka-dr/evidence/%3Cscript%3Ealert(1)%3C%2Fscript%3E/x", headers={"Accept": "text/html"}
    )
    assert hostile.status_code in (400, 404)
    assert "<script>" not in hostile.text


def test_what_does_not_exist_is_said(alice: AirflowSession) -> None:
    assert alice.http.get("/kafka-dr/groups/nobody-declared-it").status_code == 404
    policy = alice.http.get(f"/kafka-dr/groups/{GROUP}").headers["content-security-policy"]
    assert re.findall(r"script-src ([^;]*)", policy) == [script_source()], "one script is allowed, by its digest"
    assert alice.http.get(f"/kafka-dr/results/{GROUP}/horoscope").status_code == 404
    assert alice.http.get("/kafka-dr/groups/..%2F..%2Fetc").status_code in (400, 404)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *(
            (f"kafka_{cluster}_{role}", "Connection successful.")
            for cluster in ("east", "west")
            for role in ("operator", "probe", "audit", "replicator", "drill")
        ),
        *((f"connect_{cluster}", "Connection successfully tested") for cluster in ("east", "west")),
    ],
)
def test_the_connections_of_the_lab_pass_airflows_own_test(airflow: QuickLab, name: str, said: str) -> None:
    """As its form asks: with "" and 0 for a host and a port that are empty, and secrets as asterisks."""
    from support.airflow_lab import AirflowSession

    admin = AirflowSession(airflow, "admin")
    stored = admin.http.get(f"/api/v2/connections/{name}").json()
    fields = ("connection_id", "conn_type", "description", "host", "login", "password", "schema", "extra")
    wanted = {**{key: stored[key] or "" for key in fields}, "port": stored["port"] or 0}
    reply = admin.http.post("/api/v2/connections/test", json=wanted).json()
    assert reply == {"status": True, "message": said}
