"""``dr_stretch`` in a real Airflow: its form offers the cluster, a bad placement is red, and the page says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.waiting import eventually

if TYPE_CHECKING:
    from support.airflow_lab import AirflowSession, QuickLab
    from support.browser import Page

pytestmark = [pytest.mark.airflow, pytest.mark.kafka, pytest.mark.timeout(600)]
DAG, NAME = "dr_stretch", "metro"


def test_a_cluster_whose_brokers_have_no_site_is_red_and_the_status_page_says_so(
    airflow: QuickLab, alice: AirflowSession, page: Page
) -> None:
    from support.served_pages import opened

    spread = {NAME: {"connection": "kafka_east_operator", "acks": "all"}}
    with airflow.declaring_also({"stretch_clusters": spread}):
        eventually(lambda: NAME in alice.choices(DAG, "cluster"), seconds=120)
        alice.unpause(DAG)
        run = alice.trigger(DAG, cluster=NAME)
        assert alice.ended(DAG, run) == "failed"
        assert alice.tasks(DAG, run)["look"] == "failed"
        opened(page, f"{alice.http.base_url}/kafka-dr/status?reload=false")
        page.unfold()
        seen = page.text()
    assert NAME in seen
    assert "broker.rack" in seen, seen
