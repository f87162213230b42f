"""Addresses on pages that tests render without Airflow."""

from __future__ import annotations

from kafka_dr.evidence.status_links import StatusLinks

LINKS = StatusLinks(
    "/",
    dag=lambda dag_id: f"/dags/{dag_id}",
    dag_run=lambda dag_id, run: f"/dags/{dag_id}/runs/{run}",
    evidence=lambda group, run: f"/kafka-dr/evidence/{group}/{run}",
    group=lambda group: f"/kafka-dr/groups/{group}",
    result=lambda group, watch: f"/kafka-dr/results/{group}/{watch}",
    question=lambda dag_id, group, run: f"/kafka-dr/question/{dag_id}/{group}/{run}",
    start=lambda dag_id, group: f"/kafka-dr/start/{dag_id}/{group}",
)
